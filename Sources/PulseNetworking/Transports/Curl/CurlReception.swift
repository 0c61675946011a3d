// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// An answer as far as it has come: a pure value, which takes the lines of the head and the bytes of a buffered body.
struct CurlReception {
    /// What a line means for the transfer.
    enum Step {
        case goOn
        /// The final head is complete.
        case head
        /// It is no answer that can be read, or too much of one.
        case bad
    }

    /// All lines of all heads of an answer, interim ones included.
    private static let headLimit = 1 << 20

    /// The bytes of the latest head.
    private(set) var head: [UInt8] = []
    private(set) var lengths = ContentLengths()
    private(set) var hasBegun = false
    /// The final head is there, and `status` is its.
    private(set) var isFinal = false
    private(set) var status = 0
    private(set) var isTruncated = false
    /// The decoded bytes of the body so far, wherever they went.
    var byteCount: Int64 = 0
    private var body = Data()
    private var headByteCount = 0
    private var isHeadComplete = false

    /// Begins with another answer, in the memory of this one's head.
    mutating func startOver() {
        var head = head
        self = CurlReception()
        // A flood's is not kept.
        head.removeAll(keepingCapacity: head.capacity <= 16 << 10)
        self.head = head
    }

    /// - Parameter statusOfHead: asked for when a head is complete.
    mutating func receive(_ line: UnsafeRawBufferPointer, statusOfHead: () -> Int) -> Step {
        hasBegun = true
        headByteCount += line.count
        guard headByteCount <= Self.headLimit else { return .bad }
        if isHeadComplete {
            // After an interim answer the next one; after a body its trailers, which nobody asked for.
            guard !isFinal, line.starts(with: "HTTP/".utf8) else { return .goOn }
            head.removeAll(keepingCapacity: true)
            lengths = ContentLengths()
            isHeadComplete = false
        }
        head.append(contentsOf: line)
        guard line.first == UInt8(ascii: "\r") || line.first == UInt8(ascii: "\n") else {
            lengths.read(line)
            return .goOn
        }
        isHeadComplete = true
        let status = statusOfHead()
        guard status >= 200 || status == 101 else { return .goOn }
        isFinal = true
        self.status = status
        return lengths.isValid ? .head : .bad
    }

    mutating func reserveBody() {
        if let claimed = lengths.uncodedLength { body.reserveCapacity(min(Int(claimed), 1 << 20)) }
    }

    /// Takes bytes of the body; false if they are more than `limit` allows, of which what fits is taken if it `cuts`.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, limit: Int, cuts: Bool) -> Bool {
        let room = limit - body.count
        guard bytes.count > room else {
            body.append(contentsOf: bytes)
            byteCount += Int64(bytes.count)
            return true
        }
        if cuts {
            body.append(contentsOf: bytes.prefix(room))
            isTruncated = true
        }
        return false
    }

    /// The buffered body, once.
    mutating func takeBody() -> Data {
        defer { body = Data() }
        return body
    }
}
#endif
