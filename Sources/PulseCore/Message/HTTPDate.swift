// SPDX-License-Identifier: MIT

/// Dates as HTTP writes them (RFC 9110, section 5.6.7). Whole numbers only: a date formatter costs a hundred times as
/// much, and depends on a locale if one forgets to tell it.
public enum HTTPDate {
    /// `Sun, 06 Nov 1994 08:49:37 GMT`, the one form to write. Fractions of a second are cut off; a date outside the
    /// years 0 to 9999 becomes the nearest one within.
    public static func format(_ date: Date) -> String {
        let seconds = date.timeIntervalSince1970
        let limited = seconds.isNaN ? 0 : Int(min(max(seconds.rounded(.down), -62_167_219_200), 253_402_300_799))
        let day = limited.flooredQuotient(86400)
        let second = limited - day * 86400
        let civil = CivilDate(daysSince1970: day)
        // 1970 began on a Thursday.
        let name = dayNames[(day + 4).flooredRemainder(7)].prefix(3)
        return String(unsafeUninitializedCapacity: 29) { buffer in
            var writer = Writer(buffer: buffer)
            writer.write(name)
            writer.write(", ")
            writer.write(civil.day, digits: 2)
            writer.write(" ")
            writer.write(monthNames[civil.month - 1][...])
            writer.write(" ")
            writer.write(civil.year, digits: 4)
            writer.write(" ")
            writer.write(second / 3600, digits: 2)
            writer.write(":")
            writer.write(second / 60 % 60, digits: 2)
            writer.write(":")
            writer.write(second % 60, digits: 2)
            writer.write(" GMT")
            return writer.count
        }
    }

    /// A date in any of the three forms that a recipient must accept, or nil.
    ///
    /// Strict in its fields: 30 February, hour 24 and a year of three digits are refused; second 60, a leap second, is
    /// the first of the next minute. Names are taken in any case, and the name of the day need not be that day's.
    ///
    /// - Parameter now: what the two-digit year of the form of RFC 850 is close to: it is the latest such year of which
    ///   the date is at most 50 years ahead. Without it the years are 1970 to 2069.
    public static func parse(_ text: String, now: Date? = nil) -> Date? {
        var text = text
        return text.withUTF8 { bytes in
            var parser = Parser(bytes: UnsafeBufferPointer(rebasing: bytes[...].trimmingBlanks()))
            return parser.parse(now: now)
        }
    }

    fileprivate static let dayNames = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ].map { Array($0.utf8) }

    fileprivate static let monthNames = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ].map { Array($0.utf8) }

    private struct Writer {
        let buffer: UnsafeMutableBufferPointer<UInt8>
        private(set) var count = 0

        mutating func write(_ bytes: ArraySlice<UInt8>) {
            for byte in bytes {
                buffer[count] = byte
                count += 1
            }
        }

        mutating func write(_ text: StaticString) {
            text.withUTF8Buffer { bytes in
                for byte in bytes {
                    buffer[count] = byte
                    count += 1
                }
            }
        }

        mutating func write(_ number: Int, digits: Int) {
            var rest = number
            for index in stride(from: count + digits - 1, through: count, by: -1) {
                buffer[index] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
            count += digits
        }
    }
}

/// Reads one date from its first byte to its last; every step is nil where the text is something else.
private struct Parser {
    let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    mutating func parse(now: Date?) -> Date? {
        guard let isShort = dayName() else { return nil }
        if isShort, take(" ") { return asctime() }
        guard take(", ") else { return nil }
        return isShort ? fixdate() : rfc850(now: now)
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    private mutating func fixdate() -> Date? {
        guard let day = number(2), take(" "), let month = month(), take(" "), let year = number(4), take(" "),
            let time = time(), take(" GMT"), isAtEnd
        else { return nil }
        return CivilDate(year: year, month: month, day: day)?.date(atSecond: time)
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`
    private mutating func rfc850(now: Date?) -> Date? {
        guard let day = number(2), take("-"), let month = month(), take("-"), let year = number(2), take(" "),
            let time = time(), take(" GMT"), isAtEnd
        else { return nil }
        guard let now else {
            return CivilDate(year: year + (year < 70 ? 2000 : 1900), month: month, day: day)?.date(atSecond: time)
        }
        let limit = CivilDate.fiftyYearsAfter(now)
        var full = limit.day.year - limit.day.year.flooredRemainder(100) + year
        let isLater = (full, month, day, time) > (limit.day.year, limit.day.month, limit.day.day, limit.second)
        if isLater { full -= 100 }
        return CivilDate(year: full, month: month, day: day)?.date(atSecond: time)
    }

    /// `Sun Nov  6 08:49:37 1994`
    private mutating func asctime() -> Date? {
        guard let month = month(), take(" "), let day = take(" ") ? number(1) : number(2), take(" "),
            let time = time(), take(" "), let year = number(4), isAtEnd
        else { return nil }
        return CivilDate(year: year, month: month, day: day)?.date(atSecond: time)
    }

    private var isAtEnd: Bool { position == bytes.count }

    /// Whether the name is the short one.
    private mutating func dayName() -> Bool? {
        for name in HTTPDate.dayNames {
            if take(name[...]) { return false }
        }
        for name in HTTPDate.dayNames {
            if take(name.prefix(3)) { return true }
        }
        return nil
    }

    private mutating func month() -> Int? {
        HTTPDate.monthNames.firstIndex { take($0[...]) }.map { $0 + 1 }
    }

    /// Seconds of the day.
    private mutating func time() -> Int? {
        guard let hour = number(2), hour < 24, take(":"), let minute = number(2), minute < 60, take(":"),
            let second = number(2), second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    private mutating func number(_ digits: Int) -> Int? {
        guard position + digits <= bytes.count else { return nil }
        var value = 0
        for index in position..<(position + digits) {
            guard bytes[index].isASCIIDigit else { return nil }
            value = value * 10 + Int(bytes[index] - UInt8(ascii: "0"))
        }
        position += digits
        return value
    }

    private mutating func take(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { take($0) }
    }

    private mutating func take(_ expected: some Collection<UInt8>) -> Bool {
        guard position + expected.count <= bytes.count else { return false }
        var index = position
        for byte in expected {
            guard bytes[index].asciiLowercased == byte.asciiLowercased else { return false }
            index += 1
        }
        position = index
        return true
    }
}
