// SPDX-License-Identifier: MIT

/// The parts of a `multipart/…` body (RFC 2046, section 5.1), complete or truncated.
enum MultipartScanner {
    struct Part {
        /// The name in `Content-Disposition` (RFC 7578, section 4.2), unescaped.
        private(set) var name: [UInt8]?
        private(set) var contentType: String?
        let content: Range<Int>

        var isBinary: Bool {
            ["application/octet-stream", "image/", "audio/", "video/"].contains {
                (contentType ?? "").asciiLowercased.hasPrefix($0)
            }
        }

        /// Reads a part. Without an empty line, all of it is content: a truncated part, or text between parts.
        init(_ bytes: [UInt8], in range: Range<Int>) {
            var lines: [Range<Int>] = []
            var index = range.lowerBound
            while index < range.upperBound {
                let end = bytes[index..<range.upperBound].firstIndex(of: 0x0A) ?? range.upperBound
                let stop = end > index && bytes[end - 1] == 0x0D ? end - 1 : end
                if stop == index, end < range.upperBound {
                    content = (end + 1)..<range.upperBound
                    for line in lines { read(bytes, line) }
                    return
                }
                if let last = lines.last, stop > index, bytes[index] == 0x20 || bytes[index] == 0x09 {
                    // A folded line (RFC 5322, section 2.2.3).
                    lines[lines.count - 1] = last.lowerBound..<stop
                } else {
                    lines.append(index..<stop)
                }
                index = end + 1
            }
            content = range
        }

        private mutating func read(_ bytes: [UInt8], _ line: Range<Int>) {
            guard let colon = bytes[line].firstIndex(of: UInt8(ascii: ":")) else { return }
            let value = bytes[(colon + 1)..<line.upperBound].map { $0 == 0x0D || $0 == 0x0A ? 0x20 : $0 }
            switch String(decoding: bytes[line.lowerBound..<colon], as: UTF8.self).asciiLowercased {
            case "content-disposition":
                name = HeaderParameter.value(of: "name", in: value).map {
                    PercentEncoding.lenientlyDecoded($0, in: 0..<$0.count)
                }
            case "content-type":
                contentType = String(decoding: value, as: UTF8.self).trimmingCharacters(in: .whitespaces)
            default: break
            }
        }
    }

    /// The ranges of the delimiter lines, each with the preceding line break, which belongs to it.
    static func delimiters(_ bytes: [UInt8], in range: Range<Int>, boundary: [UInt8]) -> [Range<Int>] {
        let delimiter = Array("--".utf8) + boundary
        var found: [Range<Int>] = []
        var lineStart = range.lowerBound
        while lineStart < range.upperBound {
            let lineEnd = bytes[lineStart..<range.upperBound].firstIndex(of: 0x0A) ?? range.upperBound - 1
            if bytes[lineStart...lineEnd].starts(with: delimiter) {
                var start = lineStart
                if start > range.lowerBound { start -= 1 }
                if start > range.lowerBound, bytes[start - 1] == 0x0D { start -= 1 }
                // The line break of an empty part is the end of the preceding delimiter.
                found.append(max(start, found.last?.upperBound ?? range.lowerBound)..<(lineEnd + 1))
            }
            lineStart = lineEnd + 1
        }
        return found
    }
}
