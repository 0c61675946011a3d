// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

extension HTTP2Session {
    /// The most bytes that one call of nghttp2 returns: a frame of the smallest maximum size (RFC 9113, section 4.2).
    private static let largestFrame = 9 + 16 << 10

    /// The next bytes for the socket, up to the limit; empty if there is nothing to send. Throws ``Failure`` if no more
    /// can be sent.
    ///
    /// For a stream that ends with these bytes, the next ``receive(_:)`` returns
    /// ``Event/closed(stream:code:isUnprocessed:)``.
    func takeOutgoing(atMost limit: Int) throws -> Outgoing {
        let wasFine = failure == nil
        while limit > 0, unsent.isEmpty || unsent.count + Self.largestFrame <= limit {
            guard moveFrame() || resumeBodies(endsTurns: true) else { break }
        }
        if wasFine, let failure { throw failure }
        return unsent.take(atMost: limit)
    }

    /// Moves all pending frames of nghttp2, except bodies, to the unsent bytes. So a stream reset or a connection error
    /// is known together with the received bytes that cause it.
    func moveFrames() {
        isHoldingBodies = true
        while moveFrame() {}
        isHoldingBodies = false
        resumeBodies(endsTurns: false)
        if unsent.acknowledgmentCount > Self.acknowledgmentLimit {
            fail(Failure(code: .enhanceYourCalm, text: "too many PING or SETTINGS frames"))
        }
    }

    /// Lets nghttp2 request the held bodies again. False if there are none.
    ///
    /// - Parameter endsTurns: whether all have had their turn. Otherwise the first would get one more after each frame
    ///   of the peer, and the last none.
    @discardableResult
    private func resumeBodies(endsTurns: Bool) -> Bool {
        guard !heldBodies.isEmpty else { return false }
        for stream in heldBodies { pulse_http2_resume(session, stream) }
        heldBodies = []
        if endsTurns { turns = [] }
        return true
    }

    /// Moves at most one frame of nghttp2. Returns false if there is none.
    private func moveFrame() -> Bool {
        var bytes: UnsafePointer<UInt8>?
        let count = pulse_http2_next(session, &bytes)
        if count < 0 { fail(Failure(Int32(count))) }
        guard count > 0, let bytes else { return false }
        unsent.append(UnsafeBufferPointer(start: bytes, count: count))
        return true
    }

    /// The bytes that nghttp2 has framed and no call has taken.
    struct Unsent {
        private var bytes = Data()
        /// Where the HEADERS of streams begin.
        private var beginnings: [(stream: Int32, offset: Int)] = []
        /// Where the last frames of streams end.
        private var ends: [(stream: Int32, offset: Int)] = []
        /// The streams whose last frame is appended next.
        private var ending: [Int32] = []
        /// The number of PING and SETTINGS frames.
        var acknowledgmentCount = 0

        var isEmpty: Bool { bytes.isEmpty }
        var count: Int { bytes.count }

        /// Notes that the next bytes begin with the HEADERS of the stream.
        mutating func begin(_ stream: Int32) {
            beginnings.append((stream, bytes.count))
        }

        /// Notes that the next bytes end with the last frame of the stream.
        mutating func end(_ stream: Int32) {
            ending.append(stream)
        }

        mutating func append(_ frame: UnsafeBufferPointer<UInt8>) {
            bytes.append(frame)
            for stream in ending { ends.append((stream, bytes.count)) }
            ending = []
        }

        mutating func take(atMost limit: Int) -> Outgoing {
            let count = min(max(limit, 0), bytes.count)
            let outgoing = Outgoing(
                bytes: count == bytes.count ? bytes : Data(bytes.prefix(count)),
                begun: beginnings.filter { $0.offset < count }.map(\.stream),
                ended: ends.filter { $0.offset <= count }.map(\.stream))
            bytes = count == bytes.count ? Data() : Data(bytes.dropFirst(count))
            beginnings = beginnings.filter { $0.offset >= count }.map { ($0.stream, $0.offset - count) }
            ends = ends.filter { $0.offset > count }.map { ($0.stream, $0.offset - count) }
            if bytes.isEmpty { acknowledgmentCount = 0 }
            return outgoing
        }
    }
}
#endif
