// SPDX-License-Identifier: MIT

import PulseCore

/// A supported content coding (RFC 9110, section 8.4.1; RFC 7932; RFC 8878).
enum ContentCoding: String, CaseIterable, Sendable {
    case gzip, deflate
    case brotli = "br"
    case zstd

    /// The values of `Accept-Encoding`. Over cleartext, browsers accept only gzip and deflate, since a proxy may not
    /// know the other codings.
    private static let acceptEncodings = (
        secure: available.map(\.rawValue).joined(separator: ", "),
        plain: available.filter { $0 == .gzip || $0 == .deflate }.map(\.rawValue).joined(separator: ", ")
    )

    /// The `Accept-Encoding` of a request that sets none. A part of a coded body cannot be decoded, so a range request
    /// accepts no coding.
    static func acceptEncoding(isSecure: Bool, hasRange: Bool) -> String {
        let codings = isSecure ? acceptEncodings.secure : acceptEncodings.plain
        return hasRange || codings.isEmpty ? "identity" : codings
    }

    /// The codings to decode for this `Content-Encoding`, the one applied last first.
    ///
    /// Empty without a coding, and if any of them is unknown: like browsers, the client leaves such a body coded.
    static func toDecode(_ field: String) -> [ContentCoding] {
        var codings: [ContentCoding] = []
        for member in field.split(separator: ",") {
            let name = member.trimmingCharacters(in: .whitespaces).asciiLowercased
            if name.isEmpty || name == "identity" || name == "none" { continue }
            guard let coding = ContentCoding(rawValue: name == "x-gzip" ? "gzip" : name), available.contains(coding)
            else { return [] }
            codings.append(coding)
        }
        return codings.reversed()
    }
}
