// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct HTTPDateTests {
    private static let example = Date(timeIntervalSince1970: 784_111_777)
    private static let forms = [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ]
    private let now = Date(timeIntervalSince1970: 1_767_225_600)

    @Test(arguments: forms)
    @HeavyWork func theThreeFormatsAreParsed(text: String) {
        #expect(HTTPDate.parse(text, now: now) == Self.example)
        #expect(HTTPDate.parse(text.lowercased(), now: now) == Self.example)
        #expect(HTTPDate.parse(text.uppercased(), now: now) == Self.example)
    }

    /// Blanks around a field value are not part of it (RFC 9110, section 5.5).
    @Test
    @HeavyWork func surroundingBlanksAreIgnored() {
        #expect(HTTPDate.parse(" \t\(Self.forms[0])\t ", now: now) == Self.example)
    }

    @Test(arguments: forms)
    @HeavyWork func aTruncatedDateIsInvalid(text: String) {
        for length in 0..<text.count {
            let cut = String(text.prefix(length))
            #expect(HTTPDate.parse(cut, now: now) == nil, "\(cut.debugDescription)")
        }
    }

    @Test(arguments: [
        // A day or time that does not exist.
        "Sun, 31 Feb 2021 00:00:00 GMT", "Sun, 29 Feb 2021 00:00:00 GMT", "Sun, 29 Feb 2100 00:00:00 GMT",
        "Sun, 31 Apr 2021 00:00:00 GMT", "Sun, 00 Jan 2021 00:00:00 GMT", "Sun, 32 Jan 2021 00:00:00 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Xyz 1994 08:49:37 GMT", "Sun, 06 11 1994 08:49:37 GMT", "Sun Feb 30 08:49:37 1994",
        // Another format.
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 1994 08:49:37 GMT+1", "Sun, 06 Nov 1994 08:49:37 GMT x",
        "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun, 06 Nov -994 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sun 06 Nov 1994 08:49:37 GMT", "06 Nov 1994 08:49:37 GMT", "Sun Nov 6 1994 08:49:37",
        "Sun Nov 006 08:49:37 1994", "Sun Nov 6 08:49:37 1994", "Sun Nov   6 08:49:37 1994",
        "Sun Nov  06 08:49:37 1994", "Sun, 06  Nov 1994 08:49:37 GMT", "Sun,  06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37  GMT", "Sunday,  06-Nov-94 08:49:37 GMT", "Sun Nov 16  08:49:37 1994",
        "Sun,\t06 Nov 1994 08:49:37 GMT",
        "1994-11-06T08:49:37Z", "784111777", "0", "-1", "", " ", "GMT", ",", ", , , , , ,", "never",
        "Sun, 06 Nov 1994 08:49:37 GMT\r\n", "Sun, \u{660}6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT\u{0}",
        // Delimiters in the wrong places.
        "Sun 06, Nov 1994 08:49:37 GMT", "Sun, 06 Nov-94 08:49:37 GMT", "Sun-06-Nov-94 08:49:37, GMT",
        "Sun, 06-Nov-94-08:49:37-GMT", "Sun, 06 Nov 1994 08:49:37 GMT,", ",Sun 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06--Nov-94 08:49:37 GMT", "123, 06 Nov 1994 08:49:37 GMT", "Noday, 06 Nov 1994 08:49:37 GMT",
    ])
    @HeavyWork func invalidDatesAreRefused(text: String) {
        #expect(HTTPDate.parse(text, now: now) == nil)
    }

    @Test
    @HeavyWork func theWeekdayIsNotComparedWithTheDate() {
        #expect(HTTPDate.parse("Mon, 06 Nov 1994 08:49:37 GMT", now: now) == Self.example)
    }

    @Test
    @HeavyWork func aLeapSecondIsTheSecondBefore() {
        let date = HTTPDate.parse("Sat, 31 Dec 2016 23:59:60 GMT", now: now)
        #expect(date == HTTPDate.parse("Sat, 31 Dec 2016 23:59:59 GMT", now: now))
        #expect(date != nil)
    }

    @Test
    @HeavyWork func theFiftyYearsOfATwoDigitYearEndOnADay() {
        let past = HTTPDate.parse("Fri, 06 Nov 1976 08:49:37 GMT", now: now)
        #expect(HTTPDate.parse("Saturday, 06-Nov-76 08:49:37 GMT", now: now) == past)
        // Of the two years, only one has the day.
        let leap = HTTPDate.parse("Tue, 29 Feb 2000 00:00:00 GMT", now: now)
        #expect(HTTPDate.parse("Tuesday, 29-Feb-00 00:00:00 GMT", now: now) == leap)
    }

    @Test(arguments: [
        ("00", 2000), ("26", 2026), ("75", 2075), ("76", 2076), ("77", 1977), ("94", 1994), ("99", 1999),
    ])
    @HeavyWork func aTwoDigitYearIsNeverMoreThanFiftyYearsAhead(digits: String, year: Int) {
        let text = "Friday, 01-Jan-\(digits) 00:00:00 GMT"
        let full = "Fri, 01 Jan \(year) 00:00:00 GMT"
        #expect(HTTPDate.parse(text, now: now) == HTTPDate.parse(full, now: now))
        #expect(HTTPDate.parse(text, now: now) != nil)
    }

    @Test
    @HeavyWork func datesAreWrittenInTheIMFFixdateFormat() {
        #expect(HTTPDate.format(Self.example) == Self.forms[0])
        #expect(HTTPDate.format(Self.example.addingTimeInterval(0.999)) == Self.forms[0])
        #expect(HTTPDate.format(Date(timeIntervalSince1970: -0.5)) == "Wed, 31 Dec 1969 23:59:59 GMT")
        #expect(HTTPDate.format(Date(timeIntervalSince1970: 0)) == "Thu, 01 Jan 1970 00:00:00 GMT")
    }

    @Test(arguments: [-TimeInterval.infinity, .infinity, .nan, -1e300, 1e300, -62_135_596_801, 253_402_300_800])
    @HeavyWork func datesOutOfRangeNeverTrap(seconds: TimeInterval) {
        let text = HTTPDate.format(Date(timeIntervalSince1970: seconds))
        #expect(text.utf8.count == 29)
        #expect(HTTPDate.parse(text, now: Date(timeIntervalSince1970: seconds)) != nil)
        _ = HTTPDate.parse(Self.forms[1], now: Date(timeIntervalSince1970: seconds))
    }

    @Test
    @HeavyWork func aDateSurvivesARoundTrip() {
        var generator = SplitMix64(seed: 9110)
        for _ in 0..<10_000 {
            let seconds = Int.random(in: 0..<7_289_568_000, using: &generator)
            let date = Date(timeIntervalSince1970: TimeInterval(seconds))
            #expect(HTTPDate.parse(HTTPDate.format(date), now: now) == date)
        }
    }

    @Test
    @HeavyWork func agreesWithTheCalendarOnEveryDayOfFourCenturies() {
        // Counted here, without the formula under test.
        let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        var day = 0
        for year in 1970..<2370 {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            for (month, length) in zip(months, lengths) {
                for number in 1...(isLeap && month == "Feb" ? 29 : length) {
                    let text = "\(weekdays[day % 7]), \(number < 10 ? "0" : "")\(number) \(month) \(year) 00:00:00 GMT"
                    if HTTPDate.format(Date(timeIntervalSince1970: TimeInterval(day * 86_400))) != text {
                        Issue.record("day \(day) is not \(text)")
                    }
                    day += 1
                }
            }
        }
    }

    @Test
    @HeavyWork func hostileTextNeverTraps() {
        var generator = SplitMix64(seed: 7)
        for _ in 0..<5000 {
            _ = HTTPDate.parse(generator.hostileText(maxLength: 12), now: now)
            var bytes = Array(Self.forms[Int.random(in: 0..<3, using: &generator)].utf8)
            bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(in: 0...127, using: &generator)
            _ = HTTPDate.parse(String(decoding: bytes, as: UTF8.self), now: now)
        }
    }
}
