// SPDX-License-Identifier: MIT

import PulseCore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct HTTPDateTests {
    private static func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Sun Nov 16 08:49:37 1994", 784_975_777),
        (" \tsun, 06 nOV 1994 08:49:37 gmt ", 784_111_777),
        // The name of the day is not checked.
        ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800),
        ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
        ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
    ])
    func readsTheThreeForms(text: String, seconds: Double) {
        #expect(HTTPDate.parse(text) == Self.date(seconds))
    }

    @Test(arguments: [
        "", " ", "0", "Sun", "Sun,", "Sun, 31 Feb 2024 00:00:00 GMT", "Sun, 29 Feb 2023 00:00:00 GMT",
        "Sun, 29 Feb 1900 00:00:00 GMT", "Sun, 31 Apr 2024 00:00:00 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 32 Jan 2024 00:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 08:49:37 GMT x", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nox 1994 08:49:37 GMT",
        "Son, 06 Nov 1994 08:49:37 GMT", "Sun,06 Nov 1994 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37",
        "Sun Nov 6 08:49:37 1994", "Sun Nov  6 08:49:37 1994 GMT", "Sun Nov  6 08:49:37 94", "Sun Nov 06 08:49:37",
        "06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z", "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov -994 08:49:37 GMT",
        "Sun, \u{0661}\u{0662} Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT\u{0}",
    ])
    func refusesEverythingElse(text: String) {
        #expect(HTTPDate.parse(text) == nil)
        #expect(HTTPDate.parse(text, now: Self.date(0)) == nil)
    }

    @Test(arguments: [
        // now, the two digits, the year
        ("Fri, 01 Jan 2027 00:00:00 GMT", "76", "2076"),
        ("Thu, 05 Nov 2026 00:00:00 GMT", "76", "1976"),
        ("Fri, 06 Nov 2026 08:49:36 GMT", "76", "1976"),
        ("Fri, 06 Nov 2026 08:49:37 GMT", "76", "2076"),
        ("Fri, 06 Nov 2026 08:49:37 GMT", "77", "1977"),
        ("Fri, 06 Nov 2026 08:49:37 GMT", "26", "2026"),
        ("Fri, 06 Nov 2026 08:49:37 GMT", "00", "2000"),
        ("Fri, 06 Nov 2099 08:49:37 GMT", "01", "2101"),
        ("Sun, 06 Nov 1994 08:49:37 GMT", "94", "1994"),
        ("Sun, 06 Nov 1994 08:49:37 GMT", "44", "2044"),
        ("Sun, 06 Nov 1994 08:49:37 GMT", "45", "1945"),
    ])
    func readsTwoDigitsAsTheYearWithinFiftyYears(now: String, digits: String, year: String) throws {
        let now = try #require(HTTPDate.parse(now))
        let expected = try #require(HTTPDate.parse("Sun, 06 Nov \(year) 08:49:37 GMT"))
        #expect(HTTPDate.parse("Sunday, 06-Nov-\(digits) 08:49:37 GMT", now: now) == expected)
    }

    @Test
    func readsTwoDigitsWithoutAClock() {
        #expect(HTTPDate.parse("Thursday, 01-Jan-70 00:00:00 GMT") == Self.date(0))
        #expect(HTTPDate.parse("Tuesday, 01-Jan-69 00:00:00 GMT") == HTTPDate.parse("Tue, 01 Jan 2069 00:00:00 GMT"))
        for now in [
            Date.distantPast, .distantFuture, Self.date(.infinity), Self.date(-.infinity), Self.date(.nan),
            Self.date(1e300),
        ] {
            _ = HTTPDate.parse("Tuesday, 29-Feb-00 00:00:00 GMT", now: now)
        }
    }

    @Test
    func writesTheFixedForm() {
        #expect(HTTPDate.format(Self.date(784_111_777)) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.format(Self.date(784_111_777.999)) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.format(Self.date(-0.5)) == "Wed, 31 Dec 1969 23:59:59 GMT")
        #expect(HTTPDate.format(Self.date(951_782_400)) == "Tue, 29 Feb 2000 00:00:00 GMT")
        for seconds in [Double.infinity, 1e18, 253_402_300_800] {
            #expect(HTTPDate.format(Self.date(seconds)) == "Fri, 31 Dec 9999 23:59:59 GMT")
        }
        for seconds in [-Double.infinity, -1e18, -62_167_219_201] {
            #expect(HTTPDate.format(Self.date(seconds)) == "Sat, 01 Jan 0000 00:00:00 GMT")
        }
        #expect(HTTPDate.format(Self.date(.nan)) == "Thu, 01 Jan 1970 00:00:00 GMT")
    }

    @Test
    func agreesWithTheSystemsCalendarBothWays() throws {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        var random = SplitMix64(seed: 1970)
        for round in 0..<3000 {
            let date = Self.date(Double(Int.random(in: 0..<7_258_118_400, using: &random)))
            let text = HTTPDate.format(date)
            #expect(HTTPDate.parse(text) == date, "\(text)")
            if round % 10 == 0 { #expect(text == formatter.string(from: date)) }
        }
    }

    @Test(arguments: ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])
    func refusesWhatWasCutOrChanged(text: String) {
        for count in 0..<text.count {
            #expect(HTTPDate.parse(String(text.prefix(count))) == nil)
            #expect(HTTPDate.parse(String(text.suffix(count))) == nil)
        }
        var random = SplitMix64(seed: 850)
        for _ in 0..<2000 {
            var bytes = Array(text.utf8)
            bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            _ = HTTPDate.parse(String(decoding: bytes, as: UTF8.self), now: Self.date(1e9))
        }
    }
}
