// SPDX-License-Identifier: MIT

import PulseCore

/// The values of `Content-Length` in a response head (RFC 9112, section 6.3).
struct ContentLengths {
    /// The declared length, if there is one.
    private(set) var value: Int64?
    /// Whether a length is present, valid or not.
    private(set) var hasLength = false
    private var isContradictory = false

    /// False for a length that is not a number, or for several that differ: then the end of the body is unknown.
    var isValid: Bool { !isContradictory }

    /// Reads a value: one number, or a list of equal numbers.
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
