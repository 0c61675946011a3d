// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

extension HTTP2Connection {
    /// The head of a response.
    struct Head: Sendable {
        let head: ResponseHead
        let framing: ResponseFraming
    }

    /// What a task waits for.
    enum Goal {
        /// The head of the response.
        case head
        /// More of its body, or its end.
        case body
        /// The socket has accepted the request's header fields.
        case taken
        /// The unsent bytes of the body are within the limit.
        case room
        /// The whole request is sent.
        case sent

        /// Whether the task reads the response.
        var isReading: Bool { self == .head || self == .body }
    }

    /// The received, unread data of one stream, and the tasks that wait for it.
    struct StreamState {
        /// The number of unsent bytes of a body above which its source has to wait.
        static let sendLimit = 256 << 10
        /// Pieces up to this size are joined: a peer may send one byte at a time.
        private static let smallCount = 4 << 10

        private let idleTimeout: TimeInterval
        /// The connection's receive count when the stream was opened.
        let receiveCount: Int
        let openedAt: TimeInterval
        /// Whether the session still has the stream.
        var isOpen = true

        /// Whether the header fields of the request may have been sent.
        var isBegun = false
        /// Whether the socket has accepted them.
        var isTaken = false
        /// When the socket accepted the end of the request.
        var sentAt: TimeInterval?
        var unsentCount = 0
        /// Whether the request's body waits for its source.
        var waitsForSource = false

        private(set) var head: Head?
        private var pieces: [Data] = []
        /// The index of the first piece that is not taken.
        private var firstPiece = 0
        private(set) var receivedCount: Int64 = 0
        /// Whether the response is complete.
        private(set) var hasEnded = false
        private(set) var trailers = HTTPHeaders()
        private(set) var firstByteAt: TimeInterval?
        private(set) var lastByteAt: TimeInterval?
        /// Why the stream has ended in both directions.
        private(set) var end: HTTP2Outcome.Cause?

        var reader: Waiter?
        var writer: (waiter: Waiter, goal: Goal)?
        var lastActivity: TimeInterval = 0

        init(idleTimeout: TimeInterval, receiveCount: Int, openedAt: TimeInterval) {
            (self.idleTimeout, self.receiveCount, self.openedAt) = (idleTimeout, receiveCount, openedAt)
        }
    }
}

extension HTTP2Connection.StreamState {
    typealias Effects = HTTP2Connection.Effects

    /// When the wait for the peer times out; infinity without one.
    var deadline: TimeInterval {
        guard end == nil, reader != nil || writer != nil, !waitsForSource || unsentCount > 0 else { return .infinity }
        return lastActivity + idleTimeout
    }

    func hasMet(_ goal: HTTP2Connection.Goal) -> Bool {
        if end != nil { return true }
        return switch goal {
        case .head: head != nil
        case .body: firstPiece < pieces.count || hasEnded
        case .taken: isTaken
        case .room: unsentCount <= Self.sendLimit
        case .sent: sentAt != nil
        }
    }

    // MARK: Response

    mutating func take(_ head: HTTP2Connection.Head, now: TimeInterval, time: TimeInterval, _ effects: inout Effects) {
        guard self.head == nil, end == nil else { return }
        (self.head, firstByteAt) = (head, time)
        noteArrival(now: now, &effects)
    }

    mutating func take(_ bytes: Data, now: TimeInterval, _ effects: inout Effects) {
        guard end == nil, !hasEnded, !bytes.isEmpty else { return }
        receivedCount += Int64(bytes.count)
        let last = pieces.count - 1
        if bytes.count <= Self.smallCount, firstPiece <= last, pieces[last].count <= Self.smallCount {
            pieces[last].append(bytes)
        } else {
            pieces.append(bytes)
        }
        noteArrival(now: now, &effects)
    }

    mutating func endResponse(
        _ trailers: HTTPHeaders, now: TimeInterval, time: TimeInterval, _ effects: inout Effects
    ) {
        guard end == nil, !hasEnded else { return }
        (hasEnded, self.trailers, lastByteAt) = (true, trailers, time)
        noteArrival(now: now, &effects)
    }

    private mutating func noteArrival(now: TimeInterval, _ effects: inout Effects) {
        lastActivity = now
        effects.resume(reader.take())
    }

    /// Takes the pieces received so far; nil without any.
    mutating func takePieces(upTo limit: Int) -> (pieces: [Data], count: Int)? {
        guard firstPiece < pieces.count else { return nil }
        var count = 0
        var index = firstPiece
        while index < pieces.count, count < limit {
            count += pieces[index].count
            index += 1
        }
        guard index < pieces.count else {
            defer { (pieces, firstPiece) = ([], 0) }
            return (firstPiece == 0 ? pieces : Array(pieces[firstPiece...]), count)
        }
        let taken = Array(pieces[firstPiece..<index])
        // The rest is rarely moved.
        if index > pieces.count / 2 {
            pieces.removeFirst(index)
            firstPiece = 0
        } else {
            for passed in firstPiece..<index { pieces[passed] = Data() }
            firstPiece = index
        }
        return (taken, count)
    }

    // MARK: Request

    mutating func noteUnsent(_ count: Int, now: TimeInterval, _ effects: inout Effects) {
        if count < unsentCount { lastActivity = now }
        unsentCount = count
        if writer?.goal == .room, hasMet(.room) { effects.resume(writer.take()?.waiter) }
    }

    mutating func noteSent(at time: TimeInterval, _ effects: inout Effects) {
        sentAt = time
        unsentCount = 0
        if writer?.goal == .sent { effects.resume(writer.take()?.waiter) }
    }

    /// Ends both directions. The first cause counts.
    mutating func end(_ cause: HTTP2Outcome.Cause, _ effects: inout Effects) {
        guard end == nil else { return }
        end = cause
        effects.resume(reader.take())
        effects.resume(writer.take()?.waiter)
    }
}
#endif
