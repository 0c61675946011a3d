// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulsePlatform

extension HTTP2Connection {
    typealias Waiter = CheckedContinuation<Void, Never>

    /// Actions for after the lock is released.
    struct Effects {
        var waiters: [Waiter] = []
        /// Whether a stream slot has become free, or none ever will again.
        var tellsOwner = false
        /// Whether there are new bytes to send.
        var sends = false
        /// Whether to close the socket, and what to send before that if it has room.
        var closes = false
        var lastBytes: Data?
        /// When to check for waits that have timed out, replacing the earlier alarm.
        var check: TimeInterval?
        var obsolete: DeadlineHeap.Alarm?

        mutating func resume(_ waiter: Waiter?) {
            if let waiter { waiters.append(waiter) }
        }
    }

    /// The session with its streams. Its methods decide, and return the effects to perform outside the lock.
    struct State {
        let session: HTTP2Session
        var streams: [Int32: StreamState] = [:]
        /// The streams that a task uploads to.
        private var uploads: Set<Int32> = []
        /// The number of open streams. Only these count toward the peer's limit.
        private(set) var openCount = 0
        private(set) var reservedCount = 0
        /// When the latest stream slot was released, or the connection was made.
        private var freedAt: TimeInterval
        /// Whether no more stream slots can be reserved.
        private(set) var isRetired = false
        /// Why the connection has ended.
        private(set) var end: HTTP2Outcome.Cause?
        /// The stream limit that the peer probably has, until its SETTINGS arrive.
        private let expectedLimit: Int
        private var hasSettings = false
        /// The error code of the peer's GOAWAY.
        private var goAwayCode = HTTP2Session.ErrorCode.noError
        /// The number of reads.
        private var receiveCount = 0
        /// The bytes being handed to the socket.
        private var outgoing: HTTP2Session.Outgoing?
        /// Whether the loop is about to send.
        var isPosted = false
        /// When the waits for the peer are checked next. One alarm serves all streams: their deadlines are mostly in
        /// order, and few expire.
        private var nextCheck = TimeInterval.infinity
        private(set) var alarm: DeadlineHeap.Alarm?

        init(_ session: HTTP2Session, expectedLimit: Int?, now: TimeInterval) {
            self.session = session
            // At least one, for the request that has opened the connection.
            self.expectedLimit = max(1, expectedLimit ?? .max)
            freedAt = now
        }
    }
}

extension HTTP2Connection.State {
    typealias Effects = HTTP2Connection.Effects

    // MARK: Stream slots

    var isOpen: Bool { !isRetired && end == nil && session.mayOpenStreams }

    /// The peer's stream limit; nil until its SETTINGS arrive.
    var streamLimit: Int? { hasSettings ? session.maxStreams : nil }

    mutating func reserve() -> Bool {
        let limit = streamLimit ?? min(expectedLimit, session.maxStreams)
        guard isOpen, openCount + reservedCount < limit else { return false }
        reservedCount += 1
        return true
    }

    /// The time since which there has been no stream or reserved slot; nil if there is one.
    var idleSince: TimeInterval? { openCount + reservedCount == 0 ? freedAt : nil }

    mutating func giveBack(now: TimeInterval) -> Effects {
        var effects = Effects()
        reservedCount -= 1
        freePlace(&effects, now: now)
        return effects
    }

    mutating func retire() -> Effects {
        var effects = Effects()
        retire(&effects)
        return effects
    }

    private mutating func retire(_ effects: inout Effects) {
        guard !isRetired else { return }
        isRetired = true
        effects.tellsOwner = true
        closeIfUnused(&effects)
    }

    private mutating func freePlace(_ effects: inout Effects, now: TimeInterval) {
        effects.tellsOwner = true
        // Stream identifiers can run out too.
        if !session.mayOpenStreams { isRetired = true }
        freedAt = now
        closeIfUnused(&effects)
    }

    private mutating func closeIfUnused(_ effects: inout Effects) {
        guard isRetired, openCount == 0, reservedCount == 0, end == nil else { return }
        // The end of a request may still be on its way to the socket.
        guard outgoing?.ended.isEmpty != false else { return }
        session.endStreams()
        finish(.closed, &effects)
    }

    // MARK: Streams

    /// Opens a stream in a reserved slot. Returns nil if no stream can be opened.
    mutating func open(
        _ request: HTTP2Request, isFed: Bool, idleTimeout: TimeInterval, now: TimeInterval
    ) -> (stream: Int32?, Effects) {
        var effects = Effects()
        reservedCount -= 1
        let hasBody = isFed || !request.body.isEmpty
        guard end == nil, session.mayOpenStreams, let id = try? session.submit(request.fields, hasBody: hasBody) else {
            isRetired = true
            freePlace(&effects, now: now)
            return (nil, effects)
        }
        openCount += 1
        streams[id] = HTTP2Connection.StreamState(
            idleTimeout: idleTimeout, receiveCount: receiveCount, openedAt: now)
        if isFed { uploads.insert(id) } else if hasBody { session.send(request.body, isLast: true, on: id) }
        return (id, effects)
    }

    /// Ends a stream that its exchange no longer needs, and removes it.
    mutating func release(_ id: Int32, now: TimeInterval) -> Effects {
        var effects = Effects()
        guard let stream = streams.removeValue(forKey: id) else { return effects }
        uploads.remove(id)
        effects.resume(stream.reader)
        effects.resume(stream.writer?.waiter)
        if stream.isOpen {
            session.reset(id, .cancel)
            effects.sends = true
            if now - stream.openedAt >= Self.patience { doubt(stream, &effects) }
            openCount -= 1
            freePlace(&effects, now: now)
        }
        return effects
    }

    /// Ends a stream whose request cannot be completed.
    mutating func abort(_ id: Int32, now: TimeInterval) -> Effects {
        var effects = Effects()
        if streams[id]?.isOpen == true { session.reset(id, .cancel) }
        endStream(id, .closed, &effects, now: now)
        return effects
    }

    /// How long a cancelled stream must have waited to cast doubt on the peer, in seconds. A call that is cancelled
    /// sooner, such as a search while the user types, needs no new connection.
    private static let patience: TimeInterval = 1

    /// Takes no more streams if nothing was received since the stream was opened: the peer may be gone. The socket may
    /// then have no room for the request either.
    private mutating func doubt(_ stream: HTTP2Connection.StreamState, _ effects: inout Effects) {
        if stream.receiveCount == receiveCount { retire(&effects) }
    }

    /// Notes that a stream has ended in both directions.
    private mutating func endStream(
        _ id: Int32, _ cause: HTTP2Outcome.Cause, _ effects: inout Effects, now: TimeInterval
    ) {
        guard streams[id]?.isOpen == true else { return }
        streams[id]?.end(cause, &effects)
        closeStream(id, &effects, now: now)
    }

    /// Notes that the session no longer has a stream.
    private mutating func closeStream(_ id: Int32, _ effects: inout Effects, now: TimeInterval) {
        guard streams[id]?.isOpen == true else { return }
        streams[id]?.isOpen = false
        uploads.remove(id)
        openCount -= 1
        freePlace(&effects, now: now)
    }

    // MARK: Receiving

    mutating func receive(_ bytes: Data, now: TimeInterval, time: TimeInterval) -> Effects {
        var effects = Effects()
        guard end == nil else { return effects }
        receiveCount += 1
        do {
            let events = try bytes.withUnsafeBytes { try session.receive($0) }
            for event in events { handle(event, &effects, now: now, time: time) }
        } catch {
            for event in session.pendingEvents { handle(event, &effects, now: now, time: time) }
            finish(HTTP2Outcome.Cause(error), &effects)
        }
        return effects
    }

    private mutating func handle(
        _ event: HTTP2Session.Event, _ effects: inout Effects, now: TimeInterval, time: TimeInterval
    ) {
        switch event {
        case .interim(let id):
            // The server is working. The head limit bounds the interim responses.
            streams[id]?.lastActivity = now
        case .head(let id, let head, let framing, let isEnd):
            streams[id]?.take(HTTP2Connection.Head(head: head, framing: framing), now: now, time: time, &effects)
            if isEnd { endResponse(id, HTTPHeaders(), &effects, now: now, time: time) }
        case .data(let id, let bytes):
            streams[id]?.take(bytes, now: now, &effects)
        case .end(let id, let trailers):
            endResponse(id, trailers, &effects, now: now, time: time)
        case .closed(let id, let code, let isUnprocessed):
            // The reason is in the GOAWAY, which is for the whole connection.
            let isForAll = isUnprocessed && goAwayCode == .http11Required
            endStream(
                id, .reset(isForAll ? goAwayCode : code, isUnprocessed: isUnprocessed), &effects, now: now)
        case .goAway(_, let code):
            goAwayCode = code
            retire(&effects)
        case .settings:
            hasSettings = true
            effects.tellsOwner = true
        case .pong:
            break
        }
    }

    /// Notes the peer's END_STREAM.
    private mutating func endResponse(
        _ id: Int32, _ trailers: HTTPHeaders, _ effects: inout Effects, now: TimeInterval, time: TimeInterval
    ) {
        streams[id]?.endResponse(trailers, now: now, time: time, &effects)
        if streams[id]?.sentAt != nil { closeStream(id, &effects, now: now) }
    }

    /// Ends the connection, and all of its streams. The first cause counts.
    mutating func finish(_ cause: HTTP2Outcome.Cause) -> Effects {
        var effects = Effects()
        finish(cause, &effects)
        return effects
    }

    private mutating func finish(_ cause: HTTP2Outcome.Cause, _ effects: inout Effects) {
        guard end == nil else { return }
        effects.lastBytes = lastBytes(after: cause)
        (end, isRetired, openCount, uploads) = (cause, true, 0, [])
        // It is not known yet whether the socket accepts these.
        let undecided = outgoing?.begun ?? []
        for id in streams.keys {
            streams[id]?.isOpen = false
            if !undecided.contains(id) { streams[id]?.end(cause, &effects) }
        }
        (effects.closes, effects.tellsOwner, effects.obsolete) = (true, true, alarm.take())
    }

    /// What to send before the socket is closed: a GOAWAY, but no request that counts as unsent.
    private func lastBytes(after cause: HTTP2Outcome.Cause) -> Data? {
        if case .lost = cause { return nil }
        guard outgoing == nil, !streams.values.contains(where: { $0.isOpen && !$0.isBegun }) else { return nil }
        return try? session.takeOutgoing(atMost: 64 << 10).bytes
    }

    /// Ends streams that may or may not have been sent, if the connection has ended meanwhile.
    private mutating func endIfOver(_ undecided: [Int32], _ effects: inout Effects) {
        guard let end else { return }
        for id in undecided { streams[id]?.end(end, &effects) }
    }

    // MARK: Sending

    /// Notes that the loop must send. False if noted before.
    mutating func willPost() -> Bool {
        defer { isPosted = true }
        return !isPosted
    }

    /// The bytes to hand to the socket next; nil if there are none, or if another task is sending.
    ///
    /// - Parameter isNext: whether the caller has handed over its previous bytes.
    mutating func takeOutgoing(isNext: Bool, now: TimeInterval, time: TimeInterval) -> (bytes: Data?, Effects) {
        var effects = Effects()
        if isNext { noteTaken(&effects, time: time) }
        guard outgoing == nil, end == nil else { return (nil, effects) }
        do {
            let outgoing = try session.takeOutgoing(atMost: 64 << 10)
            guard !outgoing.bytes.isEmpty else { return (nil, effects) }
            self.outgoing = outgoing
            for id in outgoing.begun {
                streams[id]?.isBegun = true
                streams[id]?.lastActivity = now
            }
            for id in uploads { noteProgress(of: id, &effects, now: now) }
            for id in outgoing.ended {
                streams[id]?.noteSent(at: time, &effects)
                if streams[id]?.hasEnded == true { closeStream(id, &effects, now: now) }
            }
            return (outgoing.bytes, effects)
        } catch {
            finish(HTTP2Outcome.Cause(error), &effects)
            return (nil, effects)
        }
    }

    /// Notes that the socket has accepted all outgoing bytes.
    private mutating func noteTaken(_ effects: inout Effects, time: TimeInterval) {
        guard let taken = outgoing.take() else { return }
        noteTaken(taken.begun, &effects)
        for id in taken.ended { streams[id]?.sentAt = time }
        closeIfUnused(&effects)
    }

    /// Notes that the socket has accepted a part of the outgoing bytes.
    mutating func noteStarted() -> Effects {
        var effects = Effects()
        noteTaken(outgoing?.begun ?? [], &effects)
        outgoing?.begun = []
        return effects
    }

    private mutating func noteTaken(_ begun: [Int32], _ effects: inout Effects) {
        for id in begun {
            streams[id]?.isTaken = true
            if streams[id]?.writer?.goal == .taken { effects.resume(streams[id]?.writer.take()?.waiter) }
        }
        endIfOver(begun, &effects)
    }

    /// Notes that the socket accepts nothing more. The reader detects the end of the connection: the bytes before it
    /// may be a response, or report what the peer has not processed.
    mutating func finishSending(_ error: any Error) -> Effects {
        var effects = Effects()
        let failure = error as? TransportFailure
        let begun = outgoing?.begun ?? []
        if failure?.phase == .beforeSend {
            for id in begun { streams[id]?.isBegun = false }
        }
        // A non-nil `outgoing` keeps other tasks from sending.
        outgoing?.begun = []
        outgoing?.ended = []
        if failure == nil { finish(.lost(error), &effects) } else { retire(&effects) }
        endIfOver(begun, &effects)
        return effects
    }

    private mutating func noteProgress(of id: Int32, _ effects: inout Effects, now: TimeInterval) {
        let unsent = session.unsentCount(of: id)
        streams[id]?.noteUnsent(unsent, now: now, &effects)
    }

    // MARK: Exchanges

    /// Adds bytes to the body of a request. Returns false if nothing more can be sent on the stream.
    mutating func send(_ bytes: Data, isLast: Bool, on id: Int32, now: TimeInterval) -> (Bool, Effects) {
        var effects = Effects()
        guard streams[id]?.isOpen == true else { return (false, effects) }
        session.send(bytes, isLast: isLast, on: id)
        streams[id]?.unsentCount = session.unsentCount(of: id)
        if isLast { streams[id]?.waitsForSource = false }
        streams[id]?.lastActivity = now
        arm(id, &effects)
        return (true, effects)
    }

    /// Sets whether the request's body waits for its source. That time does not count as the server's.
    mutating func setWaitsForSource(_ waits: Bool, _ id: Int32, now: TimeInterval) -> Effects {
        var effects = Effects()
        streams[id]?.waitsForSource = waits
        streams[id]?.lastActivity = now
        arm(id, &effects)
        return effects
    }

    /// The head of the response; nil until it arrives. Throws ``HTTP2Stream/Ended``.
    mutating func takeHead(of id: Int32) throws -> HTTP2Connection.Head? {
        guard let stream = streams[id] else { throw HTTP2Stream.Ended(cause: .closed, isBegun: false) }
        if let head = stream.head { return head }
        if let cause = stream.end { throw HTTP2Stream.Ended(cause: cause, isBegun: stream.isBegun) }
        return nil
    }

    enum Portion {
        /// `opensWindow`: whether the peer may send as much more.
        case bytes([Data], opensWindow: Bool)
        case end
        case nothingYet
    }

    /// Takes the response bytes received so far, which opens the window for more. Throws ``HTTP2Stream/Ended``.
    ///
    /// - Parameter limit: the last piece may exceed it.
    mutating func takeBytes(upTo limit: Int, of id: Int32) throws -> Portion {
        if let (pieces, count) = streams[id]?.takePieces(upTo: limit) {
            let opensWindow = streams[id]?.isOpen == true && streams[id]?.hasEnded == false
            if opensWindow { session.consume(count, of: id) }
            return .bytes(pieces, opensWindow: opensWindow)
        }
        guard let stream = streams[id] else { throw HTTP2Stream.Ended(cause: .closed, isBegun: true) }
        if stream.hasEnded { return .end }
        if let cause = stream.end { throw HTTP2Stream.Ended(cause: cause, isBegun: stream.isBegun) }
        return .nothingYet
    }

    // MARK: Waits

    /// Holds the waiter until the goal is met, or the stream has ended.
    mutating func wait(
        _ waiter: HTTP2Connection.Waiter, for goal: HTTP2Connection.Goal, of id: Int32, isCancelled: Bool,
        now: TimeInterval
    ) -> Effects {
        var effects = Effects()
        guard !isCancelled, let stream = streams[id], !stream.hasMet(goal) else {
            effects.resume(waiter)
            return effects
        }
        if goal.isReading { streams[id]?.reader = waiter } else { streams[id]?.writer = (waiter, goal) }
        // Time without a waiting task does not count as the peer's.
        streams[id]?.lastActivity = now
        arm(id, &effects)
        return effects
    }

    mutating func takeWaiter(for goal: HTTP2Connection.Goal, of id: Int32) -> HTTP2Connection.Waiter? {
        goal.isReading ? streams[id]?.reader.take() : streams[id]?.writer.take()?.waiter
    }

    /// Sets the alarm for a stream's wait, unless the current one is early enough.
    private mutating func arm(_ id: Int32, _ effects: inout Effects) {
        guard let deadline = streams[id]?.deadline, deadline < nextCheck, end == nil else { return }
        (nextCheck, effects.check) = (deadline, deadline)
    }

    /// Notes the alarm that was set for a check. Returns the alarm that is no longer needed.
    mutating func note(_ alarm: DeadlineHeap.Alarm, at time: TimeInterval) -> DeadlineHeap.Alarm? {
        guard nextCheck == time, end == nil else { return alarm }
        defer { self.alarm = alarm }
        return self.alarm
    }

    /// Ends the streams whose peer was silent for too long, and rearms the alarm for the others.
    mutating func checkWaits(at time: TimeInterval, now: TimeInterval) -> Effects {
        var effects = Effects()
        if nextCheck == time { (nextCheck, alarm) = (.infinity, nil) }
        for (id, stream) in streams {
            // The clock may be off by a rounding error.
            if stream.deadline <= now + 1e-6 { expire(id, stream, &effects, now: now) } else { arm(id, &effects) }
        }
        return effects
    }

    private mutating func expire(
        _ id: Int32, _ stream: HTTP2Connection.StreamState, _ effects: inout Effects, now: TimeInterval
    ) {
        // The session sends what it has framed, before the RST_STREAM.
        if session.isBegun(id) { streams[id]?.isBegun = true }
        if stream.isOpen { session.reset(id, .cancel) }
        doubt(stream, &effects)
        endStream(id, .timedOut, &effects, now: now)
    }
}
#endif
