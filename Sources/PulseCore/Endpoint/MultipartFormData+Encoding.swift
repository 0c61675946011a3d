// SPDX-License-Identifier: MIT

extension MultipartFormData {
    /// The segments to send, in order. Adjacent bytes are merged, so a form whose parts are all data is a single
    /// segment.
    package enum Segment: Sendable, Hashable {
        case bytes(Data)
        case file(URL, length: Int64)
    }

    package struct Encoded: Sendable, Hashable {
        package let segments: [Segment]
        /// The exact length of all segments in bytes, provided no file changes before it is sent.
        package let length: Int64

        /// The whole body, if it contains no file.
        package var data: Data? {
            guard segments.count == 1, case .bytes(let data) = segments[0] else { return nil }
            return data
        }
    }

    /// The value of the request's Content-Type header.
    package static func contentType(boundary: String) -> String {
        "multipart/form-data; boundary=\(boundary)"
    }

    /// The boundary in the media type of a multipart body; nil if there is none.
    package static func boundary(in contentType: String) -> String? {
        guard let value = HeaderParameter.value(of: "boundary", in: Array(contentType.utf8)) else { return nil }
        return String(decoding: value, as: UTF8.self)
    }

    /// A boundary of 128 random bits.
    package static func boundary(using randomness: some Randomness) -> String {
        let digits = [randomness.next(), randomness.next()].map { bits in
            let hex = String(bits, radix: 16)
            return String(repeating: "0", count: 16 - hex.count) + hex
        }
        return "PulseKit-" + digits.joined()
    }

    /// The body as segments, each file with its current length.
    ///
    /// The parts are not searched for the boundary, since that would mean reading the files. The 128 random bits of
    /// ``boundary(using:)``, new for each request, cannot collide by chance or be predicted. A caller's boundary must
    /// follow RFC 2046, section 5.1.1: 1 to 70 characters, not ending in a space.
    ///
    /// Throws ``PulseError/invalidRequest(reason:)`` for text that cannot be written and for a file that is not a
    /// regular file, and ``PulseError/encodingFailed(underlying:)`` for a file whose length cannot be read.
    package func encode(boundary: String) throws -> Encoded {
        guard (1...70).contains(boundary.utf8.count), boundary.utf8.last != UInt8(ascii: " "),
            boundary.utf8.allSatisfy(Self.boundaryCharacters.contains)
        else {
            throw PulseError.invalidRequest(reason: "not a usable multipart boundary")
        }
        var segments: [Segment] = []
        var pending = Data()
        var length: Int64 = 0
        for part in parts {
            pending.append(contentsOf: "--\(boundary)\r\n".utf8)
            pending.append(contentsOf: try part.head())
            pending.append(contentsOf: "\r\n".utf8)
            switch part.content {
            case .data(let data):
                pending.append(data)
            case .file(let url):
                let fileLength = try part.length(of: url)
                // A sparse file can claim any length; below this limit no sum overflows.
                guard max(fileLength, length) < 1 << 60 else {
                    throw PulseError.invalidRequest(reason: "a multipart body of 2^60 bytes or more")
                }
                length += Int64(pending.count) + fileLength
                segments += [.bytes(pending), .file(url, length: fileLength)]
                pending = Data()
            }
            pending.append(contentsOf: "\r\n".utf8)
        }
        pending.append(contentsOf: "--\(boundary)--\r\n".utf8)
        segments.append(.bytes(pending))
        return Encoded(segments: segments, length: length + Int64(pending.count))
    }

    private static let boundaryCharacters = ASCIISet.alphanumerics.union(ASCIISet("'()+_,-./:=? "))
}

extension MultipartFormData.Part {
    /// The part's header lines, each with its CRLF (RFC 7578, section 4.2).
    fileprivate func head() throws -> [UInt8] {
        guard !name.utf8.contains(0), filename?.utf8.contains(0) != true else {
            throw PulseError.invalidRequest(reason: "the name of a multipart field or file contains NUL")
        }
        var head = Array("Content-Disposition: form-data; name=\"".utf8)
        Self.escape(name, normalizesLineBreaks: true, to: &head)
        if let filename {
            head += "\"; filename=\"".utf8
            Self.escape(filename, normalizesLineBreaks: false, to: &head)
        }
        head += "\"\r\n".utf8
        if let mimeType {
            guard mimeType.isHTTPFieldValue else {
                throw PulseError.invalidRequest(
                    reason: "the media type of a multipart field contains a control character")
            }
            head += "Content-Type: \(mimeType)\r\n".utf8
        }
        return head
    }

    fileprivate func length(of file: URL) throws -> Int64 {
        guard file.isFileURL else {
            throw PulseError.invalidRequest(reason: "the file of a multipart field is not on disk")
        }
        let attributes: [FileAttributeKey: Any]
        do {
            // The attributes of a symbolic link give the link's own length.
            let path = file.resolvingSymlinksInPath().path
            attributes = try FileManager.default.attributesOfItem(atPath: path)
        } catch {
            throw PulseError.encodingFailed(underlying: error)
        }
        guard attributes[.type] as? FileAttributeType == .typeRegular,
            let length = (attributes[.size] as? NSNumber)?.int64Value
        else { throw PulseError.invalidRequest(reason: "the file of a multipart field is not a regular file") }
        return length
    }

    /// Escapes only characters that would end the quoted text or the line (HTML, section 4.10.21.8,
    /// "multipart/form-data encoding algorithm"); the rest is UTF-8. A backslash is a plain character here, and
    /// `filename*` is not used (RFC 7578, section 4.2). Like browsers, it normalizes line breaks in a name to CRLF and
    /// keeps those in a file name.
    static func escape(
        _ text: String, normalizesLineBreaks: Bool, to output: inout some RangeReplaceableCollection<UInt8>
    ) {
        let (quote, carriageReturn, lineFeed) = (UInt8(ascii: "\""), UInt8(ascii: "\r"), UInt8(ascii: "\n"))
        var previous: UInt8 = 0
        for byte in text.utf8 {
            switch byte {
            case quote: output.append(contentsOf: "%22".utf8)
            case carriageReturn where normalizesLineBreaks: output.append(contentsOf: "%0D%0A".utf8)
            case lineFeed where normalizesLineBreaks && previous == carriageReturn: break
            case lineFeed where normalizesLineBreaks: output.append(contentsOf: "%0D%0A".utf8)
            case carriageReturn: output.append(contentsOf: "%0D".utf8)
            case lineFeed: output.append(contentsOf: "%0A".utf8)
            default: output.append(byte)
            }
            previous = byte
        }
    }
}
