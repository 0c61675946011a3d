// SPDX-License-Identifier: MIT

/// How long a server asks its clients to stay away.
package enum RetryAfter {
    /// Seconds from now, at least 0; nil if the server does not say.
    ///
    /// `Retry-After` (RFC 9110, section 10.2.3) is a number of seconds or a date, which is counted against the
    /// response's own `Date` if it has one: the clocks need not agree. Without it `RateLimit-Reset`,
    /// `X-RateLimit-Reset` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers) tell, unless the server says beside
    /// them that requests are left: many send them with every answer, and then they are not what an error is about.
    /// What is malformed counts as absent; of several lines the longest wait counts, since obeying the shorter would
    /// break the other.
    package static func seconds(in headers: HTTPHeaders, now: Date) -> TimeInterval? {
        let clock = { headers["Date"].flatMap { HTTPDate.parse($0, now: now) } ?? now }
        let asked = headers.values(for: "Retry-After").compactMap { seconds(of: $0, now: now, clock: clock) }.max()
        return asked ?? reset("RateLimit", headers, clock) ?? reset("X-RateLimit", headers, clock)
            ?? headers.values(for: "RateLimit").compactMap(structuredReset).max()
    }

    /// What is longer cannot be told from forever (RFC 9111, section 1.2.2).
    private static let longest = 1 << 31

    private static func seconds(of value: String, now: Date, clock: () -> Date) -> TimeInterval? {
        let value = value.trimmingCharacters(in: .whitespaces)
        if let number = number(value) { return TimeInterval(min(number, longest)) }
        return HTTPDate.parse(value, now: now).map { max(0, $0.timeIntervalSince(clock())) }
    }

    private static func reset(_ prefix: String, _ headers: HTTPHeaders, _ clock: () -> Date) -> TimeInterval? {
        let left = headers.values(for: prefix + "-Remaining").compactMap(number).max() ?? 0
        guard left == 0 else { return nil }
        return headers.values(for: prefix + "-Reset").compactMap(number).map { seconds(ofReset: $0, clock) }.max()
    }

    /// Some services give seconds from now, others Unix time, a few of them in milliseconds.
    private static func seconds(ofReset number: Int, _ clock: () -> Date) -> TimeInterval {
        let startOf2024 = 1_704_067_200
        if number < startOf2024 { return TimeInterval(number) }
        let time = number < startOf2024 * 1000 ? TimeInterval(number) : TimeInterval(number) / 1000
        return min(max(0, time - clock().timeIntervalSince1970), TimeInterval(longest))
    }

    /// `"default";r=0;t=30`: seconds until the quota is full again, if it is used up.
    private static func structuredReset(_ value: String) -> TimeInterval? {
        value.split(separator: ",").compactMap { policy -> TimeInterval? in
            let policy = Array(policy.utf8)
            guard let left = HeaderParameter.value(of: "r", in: policy),
                number(String(decoding: left, as: UTF8.self)) == 0,
                let time = HeaderParameter.value(of: "t", in: policy)
            else { return nil }
            return number(String(decoding: time, as: UTF8.self)).map { TimeInterval(min($0, longest)) }
        }
        .max()
    }

    /// Digits and nothing else; too many of them are the largest number.
    private static func number(_ text: String) -> Int? {
        let digits = text.trimmingCharacters(in: .whitespaces).utf8
        guard !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        return digits.reduce(0) { value, digit in
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(Int(digit - UInt8(ascii: "0")))
            return overflow || carry || value == .max ? .max : sum
        }
    }
}
