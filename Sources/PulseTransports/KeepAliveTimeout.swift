// SPDX-License-Identifier: MIT

import PulseCore

/// How long a server keeps an idle connection open, according to its `Keep-Alive: timeout=n` (RFC 2068, section
/// 19.7.1.1).
enum KeepAliveTimeout {
    /// A safety margin in seconds: the server started counting when it sent its response, and the next request takes
    /// time to arrive.
    static let margin: TimeInterval = 1

    /// The seconds in a field line, with or without its line end; nil for another field or a line without a timeout.
    static func seconds(in line: UnsafeRawBufferPointer) -> TimeInterval? {
        // The first letter rules out most lines.
        guard let first = line.first, first.asciiLowercased == UInt8(ascii: "k"),
            let colon = line.offset(of: UInt8(ascii: ":"))
        else { return nil }
        let text = String(decoding: line, as: UTF8.self).asciiLowercased
        guard text.utf8.prefix(colon).elementsEqual("keep-alive".utf8) else { return nil }
        let parameters = text.utf8.dropFirst(colon + 1).split(separator: UInt8(ascii: ","))
        for parameter in parameters {
            let parts = parameter.split(separator: UInt8(ascii: "="), omittingEmptySubsequences: false)
            guard parts.count == 2, String(parts[0])?.trimmingCharacters(in: .whitespacesAndNewlines) == "timeout"
            else { continue }
            let digits = String(parts[1])?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
            guard !digits.isEmpty, digits.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
            // Caps the value without overflow; no wait lasts longer.
            return TimeInterval(digits.utf8.count > 9 ? 999_999_999 : Int(digits) ?? 0)
        }
        return nil
    }
}
