// SPDX-License-Identifier: MIT

import PulseCore

/// The values of `Content-Length` in a head (RFC 9112, section 6.3).
struct ContentLengths {
    /// The length that was told, if there was one.
    private(set) var value: Int64?
    /// Whether there was a length, though perhaps no valid one.
    private(set) var hasLength = false
    private var isContradictory = false

    /// False for a length that is not a number, or several that differ: then the end of the body cannot be told.
    var isValid: Bool { !isContradictory }

    /// Reads a value: one number, or several in a list, which must be the same.
    mutating func read(_ text: UnsafeRawBufferPointer) {
        hasLength = true
        var start = text.startIndex
        while start <= text.endIndex {
            let end = text[start...].firstIndex(of: UInt8(ascii: ",")) ?? text.endIndex
            let length = Self.number(UnsafeRawBufferPointer(rebasing: text[start..<end]).trimmed)
            if length == nil || value != nil && value != length { isContradictory = true }
            value = length
            start = end + 1
        }
    }

    private static func number(_ digits: UnsafeRawBufferPointer) -> Int64? {
        guard !digits.isEmpty else { return nil }
        var number: Int64 = 0
        for digit in digits {
            let (tens, isTooLong) = number.multipliedReportingOverflow(by: 10)
            let (sum, isTooLarge) = tens.addingReportingOverflow(Int64(digit) - Int64(UInt8(ascii: "0")))
            guard digit.isASCIIDigit, !isTooLong, !isTooLarge else { return nil }
            number = sum
        }
        return number
    }
}
