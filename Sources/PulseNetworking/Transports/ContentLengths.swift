// SPDX-License-Identifier: MIT

import PulseCore

/// What a head says about the length of its body (RFC 9112, section 6.3).
struct ContentLengths {
    private var value: Int64?
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
            if line.hasFieldName("content-length") {
                readLengths(line[("content-length:".utf8.count)...])
            } else if line.hasFieldName("content-encoding") {
                isCoded = true
            }
        case UInt8(ascii: "T"), UInt8(ascii: "t"):
            if line.hasFieldName("transfer-encoding") { isChunked = true }
        default: break
        }
    }

    /// One number, or several in a list, which must be the same.
    private mutating func readLengths(_ text: Slice<UnsafeRawBufferPointer>) {
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
    fileprivate func hasFieldName(_ name: StaticString) -> Bool {
        let count = name.utf8CodeUnitCount
        guard self.count > count, self[count] == UInt8(ascii: ":") else { return false }
        for index in 0..<count where self[index].asciiLowercased != name.utf8Start[index] { return false }
        return true
    }
}
