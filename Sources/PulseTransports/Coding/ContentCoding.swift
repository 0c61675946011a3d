// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// A content coding that can be undone (RFC 9110, section 8.4.1; RFC 7932; RFC 8878).
enum ContentCoding: String, CaseIterable, Sendable {
    case gzip, deflate
    case brotli = "br"
    case zstd

    /// The codings whose libraries are there: those that libcurl has brought along.
    static let available: [ContentCoding] = allCases.filter { pulse_decoder_load($0.decoder) }

    /// The coding for its decoder in C. `deflate` may also come without zlib's frame.
    var decoder: pulse_coding {
        switch self {
        case .gzip: PULSE_CODING_GZIP
        case .deflate: PULSE_CODING_ZLIB
        case .brotli: PULSE_CODING_BROTLI
        case .zstd: PULSE_CODING_ZSTD
        }
    }

    /// The values of `Accept-Encoding`. In cleartext browsers ask for no more than gzip and deflate, since a proxy on
    /// the way may not know the others.
    private static let acceptEncodings = (
        secure: available.map(\.rawValue).joined(separator: ", "),
        plain: available.filter { $0 == .gzip || $0 == .deflate }.map(\.rawValue).joined(separator: ", ")
    )

    /// The value of `Accept-Encoding` for a request that has none. A part of a coded body could not be decoded, so that
    /// a request for a range asks for no coding.
    static func acceptEncoding(isSecure: Bool, hasRange: Bool) -> String {
        let codings = isSecure ? acceptEncodings.secure : acceptEncodings.plain
        return hasRange || codings.isEmpty ? "identity" : codings
    }

    /// The codings to undo of a body with that `Content-Encoding`, the one applied last first.
    ///
    /// Empty if there is none, and if one of them is unknown: browsers leave such a body as it is, too.
    static func undone(_ field: String) -> [ContentCoding] {
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
#endif
