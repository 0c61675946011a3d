// SPDX-License-Identifier: MIT

import PulseCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Buffers the received bytes of a body, from which it takes lines.
///
/// Each byte is searched once for each kind of line end, however the body is split into chunks.
struct LineBuffer: Sendable {
    /// The maximum capacity that is reserved at once.
    static let largestReserve = 64 << 20
    private static let smallSize = 64 << 10

    private let maxLength: Int
    private var bytes: [UInt8] = []
    /// The start of the current line.
    private var start = 0
    /// The end of the part of the current line that was searched for a line end.
    private var searched = 0
    /// The first LF that the last search found, or the end of the buffer if there was none; nil if it is not known.
    private var lineFeed: Int?
    /// Whether the next byte, if it is LF, belongs to the line end before it.
    private var skipsLineFeed = false
    /// Whether a byte order mark may still follow.
    private var awaitsMark: Bool

    /// - Parameter maxLength: the limit of a line, which the caller checks.
    init(skipsByteOrderMark: Bool, maxLength: Int) {
        self.maxLength = maxLength
        awaitsMark = skipsByteOrderMark
    }

    /// The length of the remaining bytes, which have no line end.
    var restLength: Int { bytes.count - start }

    mutating func append(_ chunk: Data) {
        // Once per chunk, not per line.
        if start > 0 {
            bytes.removeSubrange(..<start)
            searched -= start
            lineFeed = lineFeed.map { $0 - start }
            start = 0
        }
        if bytes.count > Self.smallSize, bytes.capacity < bytes.count + chunk.count {
            // Once, since growing by copies would hold the old and the new buffer at the same time.
            bytes.reserveCapacity(bytes.count + chunk.count + min(maxLength, Self.largestReserve))
        }
        chunk.withUnsafeBytes { bytes.append(contentsOf: $0) }
        // The end of the buffer may have stood for a later LF.
        if lineFeed ?? 0 >= bytes.count - chunk.count { lineFeed = nil }
    }

    /// The next line that ends with LF, as its range without the LF; nil if it is incomplete.
    mutating func nextLine() -> Range<Int>? {
        guard isPastMark() else { return nil }
        let end = firstLineFeed(from: searched)
        guard end < bytes.count else {
            searched = end
            return nil
        }
        return take(upTo: end)
    }

    /// The next line that ends with LF, CRLF or CR, as its range without the end. A CR ends a line immediately,
    /// although an LF may follow.
    mutating func nextEventLine() -> Range<Int>? {
        guard isPastMark() else { return nil }
        if skipsLineFeed, start < bytes.count {
            skipsLineFeed = false
            if bytes[start] == UInt8(ascii: "\n") { (start, searched) = (start + 1, start + 1) }
        }
        let known = lineFeed.flatMap { $0 < searched ? nil : $0 }
        let lineFeed = known ?? firstLineFeed(from: searched)
        self.lineFeed = lineFeed
        if let end = first(UInt8(ascii: "\r"), in: searched..<lineFeed) {
            skipsLineFeed = true
            return take(upTo: end)
        }
        guard lineFeed < bytes.count else {
            searched = lineFeed
            return nil
        }
        self.lineFeed = nil
        return take(upTo: lineFeed)
    }

    /// The remaining bytes, which have no line end.
    mutating func takeRest() -> Range<Int> {
        _ = isPastMark(isEnd: true)
        defer { (start, searched) = (bytes.count, bytes.count) }
        return start..<bytes.count
    }

    /// Drops the received part of the current line.
    mutating func dropRest() {
        (start, searched) = (bytes.count, bytes.count)
    }

    /// The first of the remaining bytes.
    var first: UInt8? { start < bytes.count ? bytes[start] : nil }

    func withBytes<Result>(in line: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        StepCount.add(line.count)
        return try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[line])) }
    }

    private mutating func take(upTo end: Int) -> Range<Int> {
        defer { (start, searched) = (end + 1, end + 1) }
        return start..<end
    }

    /// Skips a byte order mark at the start of the body. Returns false until it is known whether there is one.
    private mutating func isPastMark(isEnd: Bool = false) -> Bool {
        guard awaitsMark else { return true }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        if !isEnd, bytes.count < mark.count, mark.starts(with: bytes) { return false }
        awaitsMark = false
        if bytes.starts(with: mark) { (start, searched) = (mark.count, mark.count) }
        return true
    }

    /// The next LF, or else the end of the buffer.
    private func firstLineFeed(from index: Int) -> Int {
        first(UInt8(ascii: "\n"), in: index..<bytes.count) ?? bytes.count
    }

    private func first(_ byte: UInt8, in range: Range<Int>) -> Int? {
        bytes.withUnsafeBytes { all in
            guard let base = all.baseAddress, !range.isEmpty else { return nil }
            let found = memchr(base + range.lowerBound, Int32(byte), range.count)
            let index = found.map { UnsafeRawPointer($0) - base }
            StepCount.add((index ?? range.upperBound) - range.lowerBound)
            return index
        }
    }
}
