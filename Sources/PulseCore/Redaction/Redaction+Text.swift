// SPDX-License-Identifier: MIT

extension Redaction {
    /// Any redacted text: an error's message, a line of a log.
    ///
    /// It masks the user info and secret items of URLs, the values of pairs such as `name=value`, `name: value` and
    /// `"name": "value"`, credentials after `Bearer`, `Basic` or `Digest`, lines such as `Authorization: …` and
    /// `Cookie: …`, JSON Web Tokens, PEM private keys, and keys that begin like those of a well-known service, such as
    /// `ghp_…` and `AKIA…`.
    public func text(_ text: String) -> String {
        let bytes = Array(text.utf8)
        guard let masked = SecretScanner.masked(bytes, in: 0..<bytes.count, names: names) else { return text }
        return String(decoding: masked, as: UTF8.self)
    }

    /// A redacted URL, with its user info and the values of secret items in query and fragment masked.
    public func url(_ url: URL) -> String {
        self.url(url.absoluteString)
    }

    /// A redacted absolute or relative URL, given as text: masked as in ``url(_:)-(URL)``.
    public func url(_ text: String) -> String {
        let bytes = Array(text.utf8)
        let masked: [UInt8]?
        if let authority = Self.authorityStart(bytes) {
            masked = SecretScanner.maskedURL(bytes, in: authority..<bytes.count, names: names, depth: 0)
                .map { bytes[..<authority] + $0.bytes }
        } else {
            var replacements = Replacements(of: bytes, in: 0..<bytes.count)
            SecretScanner.maskPathAndQuery(bytes, in: 0..<bytes.count, names: names, depth: 0, &replacements)
            masked = replacements.result()
        }
        return masked.map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    /// The index after the `//` that follows the scheme or starts the text.
    private static func authorityStart(_ bytes: [UInt8]) -> Int? {
        let end =
            bytes.firstIndex { byte in
                switch byte {
                case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): true
                default: false
                }
            } ?? bytes.count
        guard end + 1 < bytes.count, bytes[end] == UInt8(ascii: "/"), bytes[end + 1] == UInt8(ascii: "/"),
            end == 0 || bytes[end - 1] == UInt8(ascii: ":"),
            bytes[..<end].dropLast().allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || "+-.".utf8.contains($0) })
        else { return nil }
        return end + 2
    }
}
