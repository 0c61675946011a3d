// SPDX-License-Identifier: MIT

import PulseCore

/// What a head says about the length of its body (RFC 9112, section 6.3).
struct ContentLengths {
    /// The length that was told, if there was one.
    private(set) var value: Int64?
    /// Whether there was a length, though perhaps no valid one.
    private(set) var hasLength = false
    private var isContradictory = false
    private var isCoded = false
    private var isChunked = false

    /// False for a length that is not a number, or several that differ: then the end of the body cannot be told.
    var isValid: Bool { isChunked || !isContradictory }
    /// Nil if nothing tells how much memory the body takes.
    var uncodedLength: Int64? { isChunked || isCoded ? nil : value }

    mutating func read(_ line: UnsafeRawBufferPointer) {
        // Most lines are told apart by their first letter.
        switch line.first {
        case UInt8(ascii: "C"), UInt8(ascii: "c"):
            if let value = line.value(ofField: "content-length") {
                readLengths(value)
            } else if line.value(ofField: "content-encoding") != nil {
                isCoded = true
            }
        case UInt8(ascii: "T"), UInt8(ascii: "t"):
            if line.value(ofField: "transfer-encoding") != nil { isChunked = true }
        default: break
        }
    }

    /// One number, or several in a list, which must be the same.
    private mutating func readLengths(_ text: Slice<UnsafeRawBufferPointer>) {
        hasLength = true
        var start = text.startIndex
        while start <= text.endIndex {
            let end = text[start...].firstIndex(of: UInt8(ascii: ",")) ?? text.endIndex
            let length = Self.number(text[start..<end])
            if length == nil || value != nil && value != length { isContradictory = true }
            value = length
            start = end + 1
        }
    }

    private static func number(_ text: Slice<UnsafeRawBufferPointer>) -> Int64? {
        var digits = text
        while let first = digits.first, first.isHTTPSpace { digits.removeFirst() }
        while let last = digits.last, last.isHTTPSpace { digits.removeLast() }
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

extension UInt8 {
    fileprivate var isHTTPSpace: Bool {
        self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") || self == UInt8(ascii: "\r")
            || self == UInt8(ascii: "\n")
    }
}

extension UnsafeRawBufferPointer {
    /// What follows the colon if the line is a field of that name, which is in lower case. There may be blanks before
    /// the colon, which `ResponseHead` passes over, too.
    fileprivate func value(ofField name: StaticString) -> Slice<UnsafeRawBufferPointer>? {
        var end = name.utf8CodeUnitCount
        guard count > end else { return nil }
        for index in 0..<end where self[index].asciiLowercased != name.utf8Start[index] { return nil }
        while end < count, self[end] == UInt8(ascii: " ") || self[end] == UInt8(ascii: "\t") { end += 1 }
        guard end < count, self[end] == UInt8(ascii: ":") else { return nil }
        return self[(end + 1)...]
    }
}
