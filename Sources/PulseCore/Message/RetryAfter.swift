// SPDX-License-Identifier: MIT

/// How long a server wants to be left alone, as its headers say.
package enum RetryAfter {
    /// The seconds to wait, or nil if no header says so in a form that is understood. Never negative.
    ///
    /// `Retry-After` comes first (RFC 9110, section 10.2.3): digits, or a date, which is counted from the answer's own
    /// `Date` if it has one. Without it `RateLimit-Reset` counts, then `X-RateLimit-Reset`: seconds, or a Unix time if
    /// it lies after 2024.
    ///
    /// Anything malformed is ignored. So is a reset while the server says that requests are left: many servers send it
    /// with every answer, and then it does not explain an error.
    package static func seconds(in headers: HTTPHeaders, now: Date) -> TimeInterval? {
        if let value = headers.values(for: "Retry-After").first,
            let seconds = digits(value) ?? date(value, headers, now).map({ max(0, $0) })
        {
            return seconds
        }
        return reset(in: headers, now, ifUntold: true)
    }

    /// The seconds until the server's quota is renewed, by `RateLimit-Reset` or `X-RateLimit-Reset`; nil unless the
    /// `-Remaining` header of the same family says that no request is left.
    package static func resetOfNone(in headers: HTTPHeaders, now: Date) -> TimeInterval? {
        reset(in: headers, now, ifUntold: false)
    }

    private static func reset(in headers: HTTPHeaders, _ now: Date, ifUntold: Bool) -> TimeInterval? {
        reset("RateLimit", headers, now, ifUntold) ?? reset("X-RateLimit", headers, now, ifUntold)
    }

    private static func date(_ value: String, _ headers: HTTPHeaders, _ now: Date) -> TimeInterval? {
        HTTPDate.parse(value, now: now)?.timeIntervalSince(sent(headers, now))
    }

    /// The time on the server's clock if it sends one: the two clocks need not agree.
    private static func sent(_ headers: HTTPHeaders, _ now: Date) -> Date {
        headers["Date"].flatMap { HTTPDate.parse($0, now: now) } ?? now
    }

    private static func reset(
        _ family: String, _ headers: HTTPHeaders, _ now: Date, _ ifUntold: Bool
    ) -> TimeInterval? {
        guard let seconds = headers.values(for: family + "-Reset").first.flatMap(digits) else { return nil }
        let remaining = headers.values(for: family + "-Remaining").first.flatMap(leadingNumber)
        guard remaining.map({ $0 == 0 }) ?? ifUntold else { return nil }
        let startOf2025: TimeInterval = 1_735_689_600
        return seconds < startOf2025 ? seconds : max(0, seconds - sent(headers, now).timeIntervalSince1970)
    }

    /// The number at the start: some write `98.0`, some `100;w=60`, and repeated lines may be joined.
    private static func leadingNumber(_ text: String) -> TimeInterval? {
        let text = text.trimmingCharacters(in: .whitespaces)
        let number = text.utf8.prefix { $0.isASCIIDigit || $0 == UInt8(ascii: ".") }
        return TimeInterval(String(decoding: number, as: UTF8.self)).map { min($0, 1e18) }
    }

    private static func digits(_ text: String) -> TimeInterval? {
        let text = text.trimmingCharacters(in: .whitespaces)
        guard !text.isEmpty, text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        // Any number of digits is legal, and a number too large to hold is a long wait, not none.
        return TimeInterval(text).map { min($0, 1e18) }
    }
}
