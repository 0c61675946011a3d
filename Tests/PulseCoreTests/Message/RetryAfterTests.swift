// SPDX-License-Identifier: MIT

import PulseCore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RetryAfterTests {
    /// Sun, 06 Nov 1994 08:49:37 GMT
    private static let early = Date(timeIntervalSince1970: 784_111_777)
    private static let in2026 = Date(timeIntervalSince1970: 1_790_000_000)

    private static func seconds(_ headers: HTTPHeaders, now: Date = early) -> TimeInterval? {
        RetryAfter.seconds(in: headers, now: now)
    }

    @Test(arguments: [
        ("0", 0), ("120", 120), (" 7 ", 7), ("007", 7), ("2147483648", 2_147_483_648), ("2147483649", 2_147_483_648),
        ("99999999999999999999999999", 2_147_483_648), ("9223372036854775807", 2_147_483_648),
        ("Sun, 06 Nov 1994 08:50:07 GMT", 30), ("Sunday, 06-Nov-94 08:50:07 GMT", 30), ("Sun Nov  6 08:50:07 1994", 30),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Sun, 06 Nov 1994 08:49:36 GMT", 0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ])
    func isSecondsOrADate(value: String, seconds: TimeInterval) {
        #expect(Self.seconds(["Retry-After": value]) == seconds)
    }

    @Test(arguments: [
        "", " ", "-1", "+1", "1.5", "1e3", "0x10", "1 0", "10, 20", "soon", "1s", "\u{0661}", "NaN", "inf",
        "Sun, 06 Nov 1994 25:00:00 GMT", "1994-11-06T08:49:37Z",
    ])
    func ignoresWhatIsMalformed(value: String) {
        #expect(Self.seconds(["Retry-After": value]) == nil)
        #expect(Self.seconds(["Retry-After": value, "RateLimit-Reset": "5"]) == 5)
        #expect(Self.seconds(["RateLimit-Reset": value, "X-RateLimit-Reset": "6"]) == 6)
    }

    @Test
    func countsADateAgainstTheServersOwnClock() {
        let asked = "Sun, 06 Nov 1994 09:00:00 GMT"
        #expect(Self.seconds(["Retry-After": asked, "Date": "Sun, 06 Nov 1994 08:59:50 GMT"]) == 10)
        #expect(Self.seconds(["Retry-After": asked, "Date": "Sun, 06 Nov 1994 10:00:00 GMT"]) == 0)
        #expect(Self.seconds(["Retry-After": asked, "Date": "yesterday"]) == 623)
        #expect(Self.seconds(["Retry-After": "10", "Date": "Sun, 06 Nov 1994 10:00:00 GMT"]) == 10)
    }

    @Test
    func takesTheLongestOfSeveralLines() {
        #expect(Self.seconds(["Retry-After": "5", "retry-after": "30", "RETRY-AFTER": "soon"]) == 30)
        #expect(Self.seconds(["Retry-After": "5", "retry-after": "Sun, 06 Nov 1994 08:50:07 GMT"]) == 30)
    }

    @Test
    func fallsBackToTheRateLimit() {
        #expect(Self.seconds([:]) == nil)
        #expect(Self.seconds(["Retry-After": "1", "RateLimit-Reset": "50"]) == 1)
        #expect(Self.seconds(["RateLimit-Reset": "50", "X-RateLimit-Reset": "60"]) == 50)
        #expect(Self.seconds(["X-RateLimit-Reset": "60", "X-RateLimit-Remaining": "0"]) == 60)
        #expect(Self.seconds(["RateLimit": "\"burst\";r=0;t=30, \"day\";r=0;t=40"]) == 40)
        #expect(Self.seconds(["RateLimit": "\"default\";r=5;t=30"]) == nil)
        #expect(Self.seconds(["RateLimit": "\"default\";t=30"]) == nil)
        #expect(Self.seconds(["RateLimit": "\"default\";r=0;t=-1"]) == nil)
    }

    @Test
    func ignoresALimitThatIsNotUsedUp() {
        // An error of another cause: GitHub sends these with every answer.
        #expect(
            Self.seconds(["X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": "1790002000"], now: Self.in2026) == nil)
        #expect(Self.seconds(["X-RateLimit-Remaining": "many", "X-RateLimit-Reset": "60"]) == 60)
        #expect(Self.seconds(["RateLimit-Remaining": "1", "RateLimit-Reset": "9", "X-RateLimit-Reset": "60"]) == 60)
    }

    @Test(arguments: [
        ("1704067199", 1_704_067_199), ("1790000060", 60), ("1789999940", 0), ("1704067200", 0),
        ("1790000060500", 60.5),
        ("99999999999", 2_147_483_648), ("99999999999999999999999", 2_147_483_648),
    ])
    func readsUnixTimeFrom2024On(value: String, seconds: TimeInterval) {
        #expect(Self.seconds(["X-RateLimit-Reset": value], now: Self.in2026) == seconds)
        #expect(Self.seconds(["RateLimit-Reset": value], now: Self.in2026) == seconds)
    }

    @Test
    func countsUnixTimeAgainstTheServersOwnClock() {
        let date = HTTPDate.format(Self.in2026.addingTimeInterval(50))
        #expect(Self.seconds(["X-RateLimit-Reset": "1790000060", "Date": date], now: Self.early) == 10)
    }

    @Test
    func neverTrapsAndIsNeverNegative() {
        var random = SplitMix64(seed: 429)
        for _ in 0..<2000 {
            let headers: HTTPHeaders = [
                "Retry-After": random.hostileText(maximumLength: 4), "Date": random.hostileText(maximumLength: 4),
                "RateLimit-Reset": String(random.next()), "X-RateLimit-Remaining": random.hostileText(maximumLength: 2),
                "X-RateLimit-Reset": random.hostileText(maximumLength: 4),
                "RateLimit": random.hostileText(maximumLength: 8),
            ]
            let seconds = Self.seconds(headers, now: Date(timeIntervalSince1970: Double(random.next() % 4_000_000_000)))
            #expect(seconds ?? 0 >= 0)
        }
    }
}
