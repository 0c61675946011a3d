// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct RetryAfterTests {
    /// 1 January 2026, 00:00 UTC.
    private let now = Date(timeIntervalSince1970: 1_767_225_600)

    @Test(arguments: [
        ("0", 0), ("1", 1), ("120", 120), ("007", 7), (" 5 ", 5), ("3600", 3600), ("999999999999", 999_999_999_999),
        ("Thu, 01 Jan 2026 00:01:30 GMT", 90), ("Thursday, 01-Jan-26 00:01:30 GMT", 90),
        ("Thu Jan  1 00:01:30 2026", 90),
        ("Wed, 31 Dec 2025 23:00:00 GMT", 0),
    ])
    func retryAfterIsSecondsOrADate(value: String, seconds: TimeInterval) {
        #expect(RetryAfter.seconds(in: ["Retry-After": value], now: now) == seconds)
        #expect(RetryAfter.seconds(in: ["retry-after": value], now: now) == seconds)
    }

    @Test(arguments: ["", " ", "-1", "+1", "1.5", "1e3", "0x10", "\u{663}", "soon", "1 2", "1;2", "Thu, 01 Jan 2026"])
    func malformedValuesAreIgnored(value: String) {
        #expect(RetryAfter.seconds(in: ["Retry-After": value], now: now) == nil)
        #expect(RetryAfter.seconds(in: ["Retry-After": value, "RateLimit-Reset": "9"], now: now) == 9)
        #expect(RetryAfter.seconds(in: ["RateLimit-Reset": value], now: now) == nil)
    }

    @Test(arguments: [19, 30, 400])
    func aHugeNumberIsALongWait(count: Int) throws {
        let value = String(repeating: "9", count: count)
        let seconds = try #require(RetryAfter.seconds(in: ["Retry-After": value], now: now))
        #expect(seconds > 1e12)
        #expect(seconds.isFinite)
    }

    @Test
    func aDateIsRelativeToTheServersClock() {
        let headers: HTTPHeaders = [
            "Date": "Thu, 01 Jan 2026 10:00:00 GMT", "Retry-After": "Thu, 01 Jan 2026 10:00:20 GMT",
        ]
        #expect(RetryAfter.seconds(in: headers, now: now) == 20)
        var faulty = headers
        faulty["Date"] = "yesterday"
        #expect(RetryAfter.seconds(in: faulty, now: now) == 36_020)
    }

    @Test(arguments: [
        // Seconds from now, or a Unix time if it is a date after 2024.
        ("RateLimit-Reset", "30", 30), ("X-RateLimit-Reset", "30", 30), ("X-RateLimit-Reset", "1767225660", 60),
        ("RateLimit-Reset", "1767225660", 60), ("X-RateLimit-Reset", "1735689600", 0),
        ("X-RateLimit-Reset", "1735689599", 1_735_689_599), ("X-RateLimit-Reset", "0", 0),
    ])
    func rateLimitResetHeadersAreRead(name: String, value: String, seconds: TimeInterval) {
        #expect(RetryAfter.seconds(in: [name: value], now: now) == seconds)
    }

    @Test
    func aUnixTimeIsRelativeToTheServersClock() {
        let headers: HTTPHeaders = ["X-RateLimit-Reset": "1767225660", "Date": "Thu, 01 Jan 2026 00:00:50 GMT"]
        #expect(RetryAfter.seconds(in: headers, now: now) == 10)
    }

    @Test
    func theResetOfAnUnusedLimitIsIgnored() {
        // A 503 of GitHub, which sends these fields with every response: waiting for the reset would take an hour.
        let gitHub: HTTPHeaders = ["X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": "1767229200"]
        #expect(RetryAfter.seconds(in: gitHub, now: now) == nil)
        let standard: HTTPHeaders = ["RateLimit-Remaining": "1", "RateLimit-Reset": "9", "X-RateLimit-Reset": "8"]
        #expect(RetryAfter.seconds(in: standard, now: now) == 8)
        for value in ["0", "many", ""] {
            let usedUp: HTTPHeaders = ["X-RateLimit-Remaining": value, "X-RateLimit-Reset": "9"]
            #expect(RetryAfter.seconds(in: usedUp, now: now) == 9)
        }
        for value in ["98.0", "1;w=60", "10, 10"] {
            let left: HTTPHeaders = ["X-RateLimit-Remaining": value, "X-RateLimit-Reset": "9"]
            #expect(RetryAfter.seconds(in: left, now: now) == nil)
        }
        #expect(RetryAfter.seconds(in: ["X-RateLimit-Remaining": "5", "Retry-After": "7"], now: now) == 7)
    }

    @Test
    func retryAfterTakesPrecedence() {
        var headers: HTTPHeaders = ["X-RateLimit-Reset": "3", "RateLimit-Reset": "2", "Retry-After": "1"]
        #expect(RetryAfter.seconds(in: headers, now: now) == 1)
        headers["Retry-After"] = nil
        #expect(RetryAfter.seconds(in: headers, now: now) == 2)
        headers["RateLimit-Reset"] = nil
        #expect(RetryAfter.seconds(in: headers, now: now) == 3)
        headers["X-RateLimit-Reset"] = nil
        #expect(RetryAfter.seconds(in: headers, now: now) == nil)
    }

    @Test
    func theFirstOfSeveralLinesCounts() {
        #expect(RetryAfter.seconds(in: ["Retry-After": "4", "retry-after": "9"], now: now) == 4)
    }
}
