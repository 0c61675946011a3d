// SPDX-License-Identifier: MIT

/// The wait that a server asks for in its header fields.
package enum RetryAfter {
    /// The seconds to wait, or nil if no header field says so in a known format. Never negative.
    ///
    /// `Retry-After` has precedence (RFC 9110, section 10.2.3): digits, or a date, which is relative to the response's
    /// own `Date` if it has one. Next comes `RateLimit-Reset`, then `X-RateLimit-Reset`: seconds, or a Unix time if it
    /// lies after 2024.
    ///
    /// Anything malformed is ignored. A reset is also ignored while the `-Remaining` field says that requests are left:
    /// many servers send it with every response, and then it does not explain an error.
    package static func seconds(in headers: HTTPHeaders, now: Date) -> TimeInterval? {
        if let value = headers.values(for: "Retry-After").first,
            let seconds = digits(value) ?? date(value, headers, now).map({ max(0, $0) })
        {
            return seconds
        }
        return reset(in: headers, now, ifUnknown: true)
    }

    /// The seconds until the server's quota resets, by `RateLimit-Reset` or `X-RateLimit-Reset`; nil unless the
    /// `-Remaining` field of the same family says that no request is left.
    package static func resetIfExhausted(in headers: HTTPHeaders, now: Date) -> TimeInterval? {
        reset(in: headers, now, ifUnknown: false)
    }

    private static func reset(in headers: HTTPHeaders, _ now: Date, ifUnknown: Bool) -> TimeInterval? {
        reset("RateLimit", headers, now, ifUnknown) ?? reset("X-RateLimit", headers, now, ifUnknown)
    }

    private static func date(_ value: String, _ headers: HTTPHeaders, _ now: Date) -> TimeInterval? {
        HTTPDate.parse(value, now: now)?.timeIntervalSince(sent(headers, now))
    }

    /// The response's `Date`, else the local time: the two clocks may differ.
    private static func sent(_ headers: HTTPHeaders, _ now: Date) -> Date {
        headers["Date"].flatMap { HTTPDate.parse($0, now: now) } ?? now
    }

    private static func reset(
        _ family: String, _ headers: HTTPHeaders, _ now: Date, _ ifUnknown: Bool
    ) -> TimeInterval? {
        guard let seconds = headers.values(for: family + "-Reset").first.flatMap(digits) else { return nil }
        let remaining = headers.values(for: family + "-Remaining").first.flatMap(leadingNumber)
        guard remaining.map({ $0 == 0 }) ?? ifUnknown else { return nil }
        let startOf2025: TimeInterval = 1_735_689_600
        return seconds < startOf2025 ? seconds : max(0, seconds - sent(headers, now).timeIntervalSince1970)
    }

    /// The leading number: some servers write `98.0`, some `100;w=60`, and repeated lines may be joined.
    private static func leadingNumber(_ text: String) -> TimeInterval? {
        let text = text.trimmingCharacters(in: .whitespaces)
        let number = text.utf8.prefix { $0.isASCIIDigit || $0 == UInt8(ascii: ".") }
        return TimeInterval(String(decoding: number, as: UTF8.self)).map { min($0, 1e18) }
    }

    private static func digits(_ text: String) -> TimeInterval? {
        let text = text.trimmingCharacters(in: .whitespaces)
        guard !text.isEmpty, text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        // Any number of digits is legal, and a number that overflows means a long wait, not none.
        return TimeInterval(text).map { min($0, 1e18) }
    }
}
