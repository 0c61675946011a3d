// SPDX-License-Identifier: MIT

extension Redaction {
    /// A redacted body, or nil if it is not text.
    ///
    /// JSON is masked by key, or by the name in a sibling (`{"name": "password", "value": 1}`), at any depth and for
    /// any type of value; forms by field; `multipart/form-data` by part name; everything else as in ``text(_:)``. The
    /// same holds for truncated or malformed JSON. A form that begins with a brace or a bracket counts as JSON.
    public func body(_ data: Data, contentType: String?) -> String? {
        bytes(data, contentType: contentType).map { String(decoding: $0.shown, as: UTF8.self) }
    }

    /// A redacted body in its own bytes and encoding: bytes that are not masked stay unchanged. Nil if the body is not
    /// text, or is multipart with a part that would only be shown by its size.
    package func bodyBytes(_ data: Data, contentType: String?) -> Data? {
        guard let (shown, hidesParts) = bytes(data, contentType: contentType), !hidesParts else { return nil }
        return Data(shown)
    }

    private func bytes(_ data: Data, contentType: String?) -> (shown: [UInt8], hidesParts: Bool)? {
        guard Self.isText(data, contentType: contentType) else { return nil }
        let bytes = [UInt8](data)
        let type = MediaType(contentType, body: bytes)
        var hidesParts = false
        let masked = masked(bytes, in: 0..<bytes.count, as: type, &hidesParts)
        return (masked ?? bytes, hidesParts)
    }

    /// Whether a body is text that can be masked and shown. UTF-16 and UTF-32 are not: their NUL bytes would hide
    /// names.
    public static func isText(_ data: Data, contentType: String?) -> Bool {
        let type = (contentType ?? "").asciiLowercased
        // A multipart body is text, but its parts need not be.
        if type.hasPrefix("multipart/") { return true }
        if data.contains(0) { return false }
        return type.hasPrefix("text/") || ["json", "xml", "x-www-form-urlencoded"].contains { type.contains($0) }
            || String(data: data, encoding: .utf8) != nil
    }

    private func masked(
        _ bytes: [UInt8], in range: Range<Int>, as type: MediaType, depth: Int = 0, _ hidesParts: inout Bool
    ) -> [UInt8]? {
        switch type {
        case .json:
            return JSONRedaction.masked(bytes, in: range, names: names)
        case .form:
            var replacements = Replacements(of: bytes, in: range)
            SecretScanner.maskItems(bytes, in: range, names: names, depth: 0, &replacements)
            return replacements.result()
        case .multipart(let boundary) where depth < Self.maxDepth:
            return maskedParts(bytes, in: range, boundary: boundary, depth: depth + 1, &hidesParts)
        case .multipart, .other:
            return SecretScanner.masked(bytes, in: range, names: names)
        }
    }

    // MARK: Multipart

    /// The depth to which nested multipart bodies are searched: each level is another pass.
    private static let maxDepth = 3

    private func maskedParts(
        _ bytes: [UInt8], in range: Range<Int>, boundary: [UInt8], depth: Int, _ hidesParts: inout Bool
    ) -> [UInt8]? {
        var replacements = Replacements(of: bytes, in: range)
        var delimiters = MultipartScanner.delimiters(bytes, in: range, boundary: boundary)[...]
        let preamble = range.lowerBound..<(delimiters.first?.lowerBound ?? range.upperBound)
        if let masked = SecretScanner.masked(bytes, in: preamble, names: names) {
            replacements.replace(preamble, with: masked)
        }
        while let delimiter = delimiters.popFirst() {
            let end = delimiters.first?.lowerBound ?? range.upperBound
            let part = MultipartScanner.Part(bytes, in: delimiter.upperBound..<end)
            if part.content.isEmpty { continue }
            if let shown = shown(part, of: bytes, depth: depth, &hidesParts) {
                replacements.replace(part.content, with: shown)
            }
        }
        return replacements.result()
    }

    /// The bytes to show for a part, or nil to show it unchanged.
    private func shown(
        _ part: MultipartScanner.Part, of bytes: [UInt8], depth: Int, _ hidesParts: inout Bool
    ) -> [UInt8]? {
        if let name = part.name, names.contains(name[...]) { return Self.maskBytes }
        if part.isBinary || bytes[part.content].contains(0) {
            hidesParts = true
            return Array("<\(part.content.count) bytes>".utf8)
        }
        let type = MediaType(part.contentType, bytes, part.content)
        return masked(bytes, in: part.content, as: type, depth: depth, &hidesParts)
    }
}
