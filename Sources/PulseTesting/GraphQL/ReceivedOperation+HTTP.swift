// SPDX-License-Identifier: MIT

import PulseCore

extension ReceivedOperation {
    /// Parses the operation of a request from its body, or from the query of a GET.
    init(
        _ request: RecordedRequest, document find: (_ hash: String, _ document: String?) throws -> String?
    ) throws {
        if request.method == .get {
            var members: [String: JSONValue] = [:]
            for item in request.queryItems {
                let value = item.value ?? ""
                let isText = item.name == "query" || item.name == "operationName"
                members[item.name] = isText ? .string(value) : try Self.json(Data(value.utf8))
            }
            try self.init(members, of: request, document: find)
        } else if let boundary = MultipartFormData.boundary(in: request.headers["Content-Type"] ?? "") {
            try self.init(parts: Self.parts(of: request.body, boundary: boundary), of: request, document: find)
        } else {
            try self.init(Self.object(request.body), of: request, document: find)
        }
    }

    private init(
        parts: [(headers: HTTPHeaders, data: Data)], of request: RecordedRequest,
        document find: (_ hash: String, _ document: String?) throws -> String?
    ) throws {
        let named = parts.map { part in
            let disposition = Array((part.headers["Content-Disposition"] ?? "").utf8)
            let text = { (name: String) in
                HeaderParameter.value(of: name, in: disposition).map { String(decoding: $0, as: UTF8.self) }
            }
            return (name: text("name") ?? "", filename: text("filename"), part: part)
        }
        guard named.count >= 2, named[0].name == "operations", named[1].name == "map" else {
            throw Fault(message: "a form needs operations and a map first")
        }
        try self.init(Self.object(named[0].part.data), of: request, document: find)
        let map = try Self.object(named[1].part.data)
        for (name, filename, part) in named.dropFirst(2) {
            guard let places = map[name]?.arrayValue?.compactMap(\.stringValue) else {
                throw Fault(message: "the map does not name the file \(name)")
            }
            uploads.append(
                Upload(
                    variables: places.map { String($0.dropFirst("variables.".count)) }, filename: filename,
                    mimeType: part.headers["Content-Type"], data: part.data))
        }
        guard uploads.count == map.count else { throw Fault(message: "a file of the map is missing") }
    }

    private static func json(_ data: Data) throws -> JSONValue {
        do {
            return try JSONResponseDecoder().decode(JSONValue.self, from: data)
        } catch {
            throw Fault(message: "the request is no JSON")
        }
    }

    private static func object(_ data: Data) throws -> [String: JSONValue] {
        guard let members = try json(data).objectValue else { throw Fault(message: "the request is no JSON object") }
        return members
    }

    /// The parts of a form (RFC 7578).
    private static func parts(of body: Data, boundary: String) throws -> [(headers: HTTPHeaders, data: Data)] {
        let delimiter = Array("\r\n--\(boundary)".utf8)
        let end = Array("\r\n\r\n".utf8)
        let text = Data("\r\n".utf8) + body
        var parts: [(headers: HTTPHeaders, data: Data)] = []
        var position = text.firstIndex(ofPattern: delimiter).map { $0 + delimiter.count }
        while let start = position, let next = text[start...].firstIndex(ofPattern: delimiter) {
            let part = text[start..<next]
            guard let head = part.firstIndex(ofPattern: end) else {
                throw Fault(message: "a part of the form has no head")
            }
            var headers = HTTPHeaders()
            for line in String(decoding: part[..<head], as: UTF8.self).components(separatedBy: "\r\n") {
                guard let colon = line.firstIndex(of: ":") else { continue }
                headers[String(line[..<colon])] =
                    line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            }
            parts.append((headers, Data(part[(head + end.count)...])))
            position = next + delimiter.count
        }
        return parts
    }
}
