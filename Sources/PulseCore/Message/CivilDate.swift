// SPDX-License-Identifier: MIT

/// A day of the Gregorian calendar, counted from 1970 on and back, without a time zone.
struct CivilDate {
    let year: Int
    /// From 1 to 12.
    let month: Int
    let day: Int

    /// Nil for a day that the month does not have.
    init?(year: Int, month: Int, day: Int) {
        guard (1...12).contains(month), day >= 1, day <= Self.length(ofMonth: month, in: year) else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// The inverse of ``daysSince1970``.
    init(daysSince1970 days: Int) {
        // In years that begin in March the leap day is the last, and every 400 of them have the same number of days.
        let shifted = days + 719_468
        let era = shifted.flooredQuotient(146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    var daysSince1970: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear.flooredQuotient(400)
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    func date(atSecond second: Int) -> Date {
        Date(timeIntervalSince1970: Double(daysSince1970 * 86400 + second))
    }

    /// That day and second 50 years on; a moment beyond all calendars counts as the year 9999.
    static func fiftyYearsAfter(_ date: Date) -> (day: (year: Int, month: Int, day: Int), second: Int) {
        let seconds = date.timeIntervalSince1970
        guard abs(seconds) < 253_402_300_800 else { return ((9999, 12, 31), 86399) }
        let whole = Int(seconds.rounded(.down))
        let days = whole.flooredQuotient(86400)
        let civil = CivilDate(daysSince1970: days)
        return ((civil.year + 50, civil.month, civil.day), whole - days * 86400)
    }

    private static func length(ofMonth month: Int, in year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Int {
    /// Rounded down, also below zero.
    func flooredQuotient(_ divisor: Int) -> Int {
        (self - flooredRemainder(divisor)) / divisor
    }

    /// Not negative.
    func flooredRemainder(_ divisor: Int) -> Int {
        let remainder = self % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }
}

extension Slice<UnsafeBufferPointer<UInt8>> {
    /// Without the optional white space around a field's value (RFC 9110, section 5.6.3).
    func trimmingBlanks() -> Self {
        var slice = self
        while let first = slice.first, first == 0x20 || first == 0x09 { slice = slice.dropFirst() }
        while let last = slice.last, last == 0x20 || last == 0x09 { slice = slice.dropLast() }
        return slice
    }
}
