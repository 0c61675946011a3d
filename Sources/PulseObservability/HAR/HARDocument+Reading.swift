// SPDX-License-Identifier: MIT

import PulseCore

// Decoding of each part of a file. Tests/…/HARReadingTests has examples of known deviations from the format.

extension HARDocument {
    /// Reads a file as far as possible: an unreadable entry is skipped, with a warning. Throws
    /// ``PulseError/decodingFailed(type:underlying:)`` if the file is not JSON, or has no list of entries in a log.
    package init(json: Data) throws {
        let json = Self.trimmed(json)
        do {
            self = try Self.read(json, isJSON5: false)
        } catch {
            // Trailing commas, comments, NaN: JSON5 covers all known deviations.
            guard let document = try? Self.read(json, isJSON5: true) else {
                throw PulseError.decodingFailed(type: "HAR", underlying: error)
            }
            self = document
            warnings.insert(Warning(entry: nil, text: "the file is not strict JSON"), at: 0)
        }
    }

    private static func read(_ json: Data, isJSON5: Bool) throws -> HARDocument {
        let notes = HARNotes(readsTrees: !isJSON5)
        let decoder = JSONResponseDecoder { decoder in
            decoder.allowsJSON5 = isJSON5
            for key in CodingUserInfoKey.harNotes { decoder.userInfo[key] = notes }
        }
        var document = try decoder.decode(HARDocument.self, from: json)
        document.warnings = notes.warnings
        return document
    }

    /// Removes a byte order mark, and the trailing zeros that some programs write.
    private static func trimmed(_ json: Data) -> Data {
        let start = json.starts(with: [0xEF, 0xBB, 0xBF]) ? json.dropFirst(3) : json
        // In UTF-16 and UTF-32, zeros are parts of characters.
        guard start.prefix(4).allSatisfy({ $0 != 0 }), let end = start.lastIndex(where: { $0 != 0 }) else {
            return start
        }
        return Data(start[...end])
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        log = try values.decode(Log.self, forKey: .log)
    }
}

extension HARDocument.Log {
    package init(from decoder: any Decoder) throws {
        let fields = try HARFields(decoder)
        version = fields.text("version")
        comment = fields.text("comment")
        creator = fields.part("creator")
        entries = []
        let values = try decoder.container(keyedBy: HARFields.Key.self)
        var list = try values.nestedUnkeyedContainer(forKey: HARFields.Key(stringValue: "entries"))
        let notes = decoder.harNotes
        while !list.isAtEnd {
            notes?.begin(entry: list.currentIndex + 1)
            do {
                entries.append(try list.decode(HARDocument.Entry.self))
            } catch {
                notes?.add("it has no readable request, and is skipped")
                _ = try list.decode(Skipped.self)
            }
        }
        notes?.endEntries()
    }
}

extension HARDocument.Creator {
    package init(from decoder: any Decoder) throws {
        let fields = try HARFields(decoder)
        name = fields.text("name") ?? ""
        version = fields.text("version") ?? ""
        if name.isEmpty { fields.note("the creator has no name") }
        if version.isEmpty { fields.note("the creator has no version") }
    }
}

extension HARDocument.Entry {
    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: HARFields.Key.self)
        // An entry without a request is useless.
        request = try values.decode(HARDocument.Request.self, forKey: HARFields.Key(stringValue: "request"))
        let fields = try HARFields(decoder)
        if let response: HARDocument.Response = fields.part("response") {
            self.response = response
        } else {
            fields.note("it has no response")
            response = HARDocument.Response(status: 0)
        }
        startedDateTime = fields.text("startedDateTime")
        time = fields.number("time")
        cache = fields.part("cache")
        timings = fields.part("timings")
        serverIPAddress = fields.text("serverIPAddress")
        comment = fields.text("comment")
        _pulse = fields.part("_pulse")
        _error = fields.part("_error")
    }
}

extension HARDocument.Request {
    package init(from decoder: any Decoder) throws {
        let fields = try HARFields(decoder)
        guard let url = fields.text("url"), !url.isEmpty else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "a request without a URL"))
        }
        self.url = url
        if let method = fields.text("method"), !method.isEmpty {
            self.method = method
        } else {
            fields.note("the request has no method")
            method = "GET"
        }
        httpVersion = fields.text("httpVersion")
        cookies = fields.fields("cookies")
        headers = fields.fields("headers")?.separated
        queryString = fields.fields("queryString")
        postData = fields.part("postData")
        headersSize = fields.integer("headersSize")
        bodySize = fields.integer("bodySize")
        comment = fields.text("comment")
    }
}

extension HARDocument.Response {
    init(status: Int) {
        self.status = status
    }

    package init(from decoder: any Decoder) throws {
        let fields = try HARFields(decoder)
        status = Int(clamping: fields.integer("status") ?? 0)
        if status != 0, !(100...999 ~= status) {
            fields.note("the status is invalid")
            status = 0
        } else if !fields.has("status") {
            fields.note("the response has no status")
        }
        statusText = fields.text("statusText")
        httpVersion = fields.text("httpVersion")
        cookies = fields.fields("cookies")
        headers = fields.fields("headers")?.separated
        content = fields.part("content")
        redirectURL = fields.text("redirectURL")
        headersSize = fields.integer("headersSize")
        bodySize = fields.integer("bodySize")
    }
}

extension HARDocument.Field {
    /// Decodes an object with a name and a value, or a list of the two.
    package init(from decoder: any Decoder) throws {
        if var pair = try? decoder.unkeyedContainer() {
            name = try pair.decode(String.self)
            value = (try? pair.decode(String.self)) ?? ""
            decoder.harNotes?.add("a name and a value are a list")
            return
        }
        let fields = try HARFields(decoder)
        guard let name = fields.text("name") else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "a field without a name"))
        }
        self.name = name
        value = fields.text("value") ?? ""
        if !fields.has("value") { fields.note("a header, cookie or query item has no value") }
    }
}

extension [HARDocument.Field] {
    /// Splits fields that some programs merge into one, with a line break between the values: mostly `Set-Cookie`. A
    /// line that begins with a blank continues the line before (RFC 9112, section 5.2).
    fileprivate var separated: Self {
        flatMap { field -> Self in
            guard field.value.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D }) else { return [field] }
            var values: [String] = []
            for line in field.value.split(whereSeparator: \.isNewline) {
                if let first = line.first, first == " " || first == "\t", let last = values.popLast() {
                    values.append(last + " " + line.trimmingCharacters(in: .whitespaces))
                } else {
                    values.append(line.trimmingCharacters(in: .whitespaces))
                }
            }
            return values.map { HARDocument.Field(name: field.name, value: $0) }
        }
    }
}

extension HARDocument.PostData {
    package init(from decoder: any Decoder) throws {
        let fields = try HARFields(decoder)
        mimeType = fields.text("mimeType")
        text = fields.text("text")
        params = fields.list("params")
        comment = fields.text("comment")
        // The encoding is used by HAR 1.3 and some proxies.
        guard let text, fields.text("encoding")?.equalsIgnoringASCIICase("base64") == true else { return }
        let data = Data(base64Encoded: text.filter { !$0.isWhitespace })
        self.text = data.flatMap { String(data: $0, encoding: .utf8) }
        if self.text == nil { comment = "not kept: \(PulseRecording.Body.Omission.binary.rawValue)" }
    }
}

extension HARDocument.Parameter {
    package init(from decoder: any Decoder) throws {
        let field = try HARDocument.Field(from: decoder)
        (name, value) = (field.name, field.value)
    }
}

extension HARDocument.Content {
    package init(from decoder: any Decoder) throws {
        let fields = try HARFields(decoder)
        size = fields.integer("size")
        mimeType = fields.text("mimeType")
        text = fields.text("text")
        encoding = fields.text("encoding")
        comment = fields.text("comment")
    }
}

extension HARDocument.Cache {
    package init(from decoder: any Decoder) {}
}

extension HARDocument.Timings {
    package init(from decoder: any Decoder) throws {
        let fields = try HARFields(decoder)
        blocked = fields.number("blocked")
        dns = fields.number("dns")
        connect = fields.number("connect")
        ssl = fields.number("ssl")
        send = fields.number("send")
        wait = fields.number("wait")
        receive = fields.number("receive")
    }
}

extension HARDocument.Failure {
    /// Decodes a failure. Browsers write a string with this name.
    package init(from decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self) {
            self.init(kind: PulseError.Kind.custom.rawValue, message: text)
            return
        }
        let fields = try HARFields(decoder)
        self.init(
            kind: fields.text("kind") ?? PulseError.Kind.custom.rawValue, message: fields.text("message") ?? "")
        code = fields.integer("code").map { Int(clamping: $0) }
        phase = fields.text("phase")
        limit = fields.integer("limit").map { Int(clamping: $0) }
    }
}
