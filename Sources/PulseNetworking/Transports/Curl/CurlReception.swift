// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// An answer as far as it has come: a pure value that takes the lines of the head and the bytes of a buffered body.
struct CurlReception {
    /// What a line means for the transfer.
    enum Step {
        case goOn
        /// The final head is complete.
        case head
        /// The answer cannot be read, or its head is too large.
        case bad
    }

    /// The most bytes in all heads of an answer, interim ones included.
    private static let headLimit = 1 << 20

    /// The bytes of the latest head.
    private(set) var head: [UInt8] = []
    private(set) var lengths = ContentLengths()
    /// For how many seconds the server keeps the connection while it is idle; nil if it does not say.
    private(set) var idleLimit: TimeInterval?
    private(set) var hasBegun = false
    /// Whether the final head is there, so that `status` is its status.
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
        // The memory of a very large head is not kept.
        head.removeAll(keepingCapacity: head.capacity <= 16 << 10)
        self.head = head
    }

    /// - Parameter statusOfHead: asked for when a head is complete.
    mutating func receive(_ line: UnsafeRawBufferPointer, statusOfHead: () -> Int) -> Step {
        hasBegun = true
        headByteCount += line.count
        guard headByteCount <= Self.headLimit else { return .bad }
        if isHeadComplete {
            // After an interim head comes the next one; after a body come trailers, which nobody asked for.
            guard !isFinal, line.starts(with: "HTTP/".utf8) else { return .goOn }
            head.removeAll(keepingCapacity: true)
            lengths = ContentLengths()
            isHeadComplete = false
        }
        head.append(contentsOf: line)
        guard line.first == UInt8(ascii: "\r") || line.first == UInt8(ascii: "\n") else {
            lengths.read(line)
            if let seconds = KeepAliveTimeout.seconds(in: line) { idleLimit = seconds }
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

    /// Takes bytes of the body; false if they exceed `limit`. If it `cuts`, the bytes that fit are taken.
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

    /// Takes the buffered body out.
    mutating func takeBody() -> Data {
        defer { body = Data() }
        return body
    }
}
#endif
