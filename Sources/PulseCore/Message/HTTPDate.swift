// SPDX-License-Identifier: MIT

/// The dates of HTTP header fields (RFC 9110, section 5.6.7).
package enum HTTPDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    private static let weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

    /// Parses the three formats that a recipient must accept: `Sun, 06 Nov 1994 08:49:37 GMT`,
    /// `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`. Nil for any other text.
    ///
    /// Names are accepted in any case, and the weekday is not checked against the date. A leap second counts as the
    /// second before it. Everything else must follow the grammar, down to a single space between two words. A cache
    /// treats an invalid date as past (RFC 9111, section 5.3), and guessing could keep a response fresh forever.
    ///
    /// - Parameter now: the reference time for a two-digit year, which is never more than 50 years ahead.
    package static func parse(_ text: String, now: Date) -> Date? {
        let words = withoutBlanksAround(text.asciiLowercased).split(separator: " ", omittingEmptySubsequences: false)
        switch words.count {
        case 6 where words[5] == "gmt":
            guard words[0].last == ",", isWeekday(words[0].dropLast()), let day = number(words[1], digits: 2),
                let year = number(words[3], digits: 4)
            else { return nil }
            return date(year, words[2], day, words[4])
        case 4 where words[3] == "gmt":
            let parts = words[1].split(separator: "-", omittingEmptySubsequences: false)
            guard words[0].last == ",", isWeekday(words[0].dropLast()), parts.count == 3,
                let day = number(parts[0], digits: 2), let year = number(parts[2], digits: 2)
            else { return nil }
            return years(endingIn: year, now).lazy.compactMap { date($0, parts[1], day, words[2]) }
                .first { $0 <= now + halfACentury }
        case 5:
            guard isWeekday(words[0]), let day = number(words[2], digits: 2), let year = number(words[4], digits: 4)
            else { return nil }
            return date(year, words[1], day, words[3])
        case 6 where words[2].isEmpty:
            // A one-digit day has a space in place of the first digit.
            guard isWeekday(words[0]), let day = number(words[3], digits: 1), let year = number(words[5], digits: 4)
            else { return nil }
            return date(year, words[1], day, words[4])
        default:
            return nil
        }
    }

    /// Whitespace around a value is not part of it (RFC 9110, section 5.5).
    private static func withoutBlanksAround(_ text: String) -> Substring {
        func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
        var text = text[...]
        while text.first.map(isBlank) == true { text.removeFirst() }
        while text.last.map(isBlank) == true { text.removeLast() }
        return text
    }

    /// The only format that is sent: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package static func format(_ date: Date) -> String {
        let seconds = seconds(of: date)
        let days = days(before: seconds)
        let rest = Int(seconds - TimeInterval(days) * 86_400)
        let (year, month, day) = civil(fromDays: days)
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][((days % 7) + 7) % 7]
        let name = months[month - 1].prefix(1).uppercased() + months[month - 1].dropFirst()
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let digits = String(year)
        let years = String(repeating: "0", count: 4 - digits.count) + digits
        let time = "\(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
        return "\(weekday), \(two(day)) \(name) \(years) \(time) GMT"
    }

    private static func date(_ year: Int, _ monthName: Substring, _ day: Int, _ time: Substring) -> Date? {
        let parts = time.split(separator: ":", omittingEmptySubsequences: false)
        guard let month = months.firstIndex(where: { $0 == monthName }).map({ $0 + 1 }), parts.count == 3,
            let hour = number(parts[0], digits: 2), let minute = number(parts[1], digits: 2),
            let second = number(parts[2], digits: 2),
            hour < 24, minute < 60, second <= 60, day >= 1, day <= length(ofMonth: month, in: year)
        else { return nil }
        let midnight = TimeInterval(days(fromCivil: year, month, day)) * 86_400
        return Date(timeIntervalSince1970: midnight + TimeInterval(hour * 3600 + minute * 60 + min(second, 59)))
    }

    private static func number(_ text: some StringProtocol, digits: Int) -> Int? {
        text.utf8.count == digits && text.utf8.allSatisfy(\.isASCIIDigit) ? Int(text) : nil
    }

    private static func isWeekday(_ name: Substring) -> Bool {
        weekdays.contains { $0 == name || $0.prefix(3) == name }
    }

    /// Whole seconds since 1970, clamped to four-digit years. From 2038 on they do not fit in 32 bits.
    private static func seconds(of date: Date) -> TimeInterval {
        max(-62_135_596_800, min(253_402_300_799, date.timeIntervalSince1970)).rounded(.down)
    }

    private static func days(before seconds: TimeInterval) -> Int {
        Int((seconds / 86_400).rounded(.down))
    }

    /// The candidates for a two-digit year. The first is wrong if it is over 50 years ahead (RFC 9110, section 5.6.7).
    private static func years(endingIn twoDigits: Int, _ now: Date) -> [Int] {
        let current = civil(fromDays: days(before: seconds(of: now))).year
        let year = current - current % 100 + twoDigits
        return [year, year - 100]
    }

    private static let halfACentury: TimeInterval = 50 * 365.2425 * 86_400

    private static func length(ofMonth month: Int, in year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // The Gregorian calendar, counted in eras of 400 years that begin on March 1.

    private static func days(fromCivil year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(fromDays days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
