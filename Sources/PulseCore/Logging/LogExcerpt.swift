// SPDX-License-Identifier: MIT

/// The masked start of a long text for a log.
///
/// A cut never reveals a part of a secret: masking reads beyond the shown text, so it also recognizes a secret by its
/// end. If the text is longer than the part read, the last word of that part is omitted.
package struct LogExcerpt: Sendable {
    private let redaction: Redaction
    private let limit: Int
    private let lookahead: Int

    /// Creates an excerpt of a fixed length.
    ///
    /// - Parameter limit: the maximum number of bytes of the masked text; 0 or less for none.
    /// - Parameter lookahead: the number of bytes read beyond the limit. Rules that need the end of a secret (the `@`
    ///   after a user's password) miss a longer secret.
    package init(_ redaction: Redaction, limit: Int, lookahead: Int = 16 << 10) {
        self.redaction = redaction
        self.limit = max(0, limit)
        self.lookahead = max(0, lookahead)
    }

    /// A body, or its size if it is content-coded or not text.
    ///
    /// - Parameter contentEncoding: the `Content-Encoding` header: compressed content is not text.
    package func body(_ data: Data, contentType: String?, contentEncoding: String? = nil) -> String {
        let isCoded = contentEncoding.map { !$0.isEmpty && !$0.equalsIgnoringASCIICase("identity") } ?? false
        guard !isCoded, let (text, isCut) = bodyText(data, contentType: contentType) else {
            return Self.size(of: data, contentType: contentType, redaction)
        }
        return isCut ? "\(text)… (\(LogText.count(data.count, "byte")) in all)" : text
    }

    /// The start of an uncoded body, and whether there is more; nil if it is not text, or if none of it may be shown.
    package func bodyText(_ data: Data, contentType: String?) -> (text: String, isCut: Bool)? {
        let window = window(of: data)
        guard limit > 0, let shown = redaction.body(Data(window), contentType: contentType) else { return nil }
        let text = cut(shown, isPartial: window.count < data.count)
        return (text, text.utf8.count < shown.utf8.count || window.count < data.count)
    }

    /// The value of a header, on one line.
    package func headerValue(_ value: String, for name: String) -> String {
        let window = window(of: value)
        let isPartial = window.utf8.count < value.utf8.count
        let shown = redaction.headerValue(window, for: name)
        if redaction.isSecret(name) { return shown }
        let text = cut(shown, isPartial: isPartial)
        return text.utf8.count < shown.utf8.count || isPartial
            ? "\(text.onOneLine)… (\(LogText.count(value.utf8.count, "byte")) in all)" : text.onOneLine
    }

    /// A URL, on one line.
    package func url(_ url: URL) -> String {
        let shown = redaction.url(url)
        let text = cut(shown, isPartial: false)
        return text.utf8.count < shown.utf8.count ? text.onOneLine + "…" : text.onOneLine
    }

    /// Any other text, on one line.
    package func text(_ text: String) -> String {
        let window = window(of: text)
        let isPartial = window.utf8.count < text.utf8.count
        let shown = redaction.text(window)
        let cut = cut(shown, isPartial: isPartial)
        return cut.utf8.count < shown.utf8.count || isPartial ? cut.onOneLine + "…" : cut.onOneLine
    }

    /// The size of a body: `<120 bytes of image/png>`.
    static func size(of data: Data, contentType: String?, _ redaction: Redaction) -> String {
        let excerpt = LogExcerpt(redaction, limit: 128)
        let type = contentType.map { " of " + excerpt.headerValue($0, for: "Content-Type") } ?? ""
        return "<\(LogText.count(data.count, "byte"))\(type)>"
    }

    /// The bytes to scan. They end between two scalars, so that they stay valid UTF-8.
    private func window(of bytes: some Collection<UInt8>) -> ArraySlice<UInt8> {
        let (length, isTooLarge) = limit.addingReportingOverflow(lookahead)
        guard !isTooLarge, length < bytes.count else { return Array(bytes)[...] }
        return Array(bytes.prefix(length))[...].wholeScalars
    }

    /// The part of a text to scan, which is usually all of it.
    private func window(of text: String) -> String {
        let (length, isTooLarge) = limit.addingReportingOverflow(lookahead)
        guard !isTooLarge, length < text.utf8.count else { return text }
        return String(decoding: window(of: text.utf8), as: UTF8.self)
    }

    private func cut(_ shown: String, isPartial: Bool) -> String {
        guard isPartial || shown.utf8.count > limit else { return shown }
        var bytes = Array(shown.utf8)[...]
        if isPartial {
            let first = max(bytes.startIndex, bytes.endIndex - lookahead)
            let delimiter = bytes[first...].lastIndex { " \t\n\r\"'<>".utf8.contains($0) }
            bytes = bytes[..<(delimiter.map { $0 + 1 } ?? first)].wholeScalars
        }
        if bytes.count > limit { bytes = bytes.prefix(limit).wholeScalars }
        return String(decoding: bytes, as: UTF8.self)
    }
}
