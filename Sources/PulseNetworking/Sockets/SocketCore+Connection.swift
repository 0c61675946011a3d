// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseTransports

/// The two tasks of a connection, and its alarm.
extension SocketCore {
    // MARK: Reading

    /// Reads messages and control frames until the connection is over.
    ///
    /// - Parameter number: identifies the connection.
    func readAll(from connection: any DuplexConnection, _ number: Int, _ compression: DeflateParameters?) async {
        var decoder = SocketDecoder(compression, maxMessageSize: options.maxMessageSize)
        var readCount = 0
        do {
            while let bytes = try await connection.read() {
                received(bytes.count)
                // The cooperative pool has few threads, and the event loop of a transport has one.
                readCount += 1
                if readCount % 16 == 0 { await Task.yield() }
                do throws(SocketFault) {
                    decoder.take(bytes)
                    while let element = try decoder.next() {
                        guard await take(element, number) else {
                            return warn("a socket has dropped messages that came before its end: none was received")
                        }
                    }
                } catch {
                    await waitForReplies()
                    fail(error)
                }
            }
            over(number, nil)
        } catch {
            over(number, PulseError(wrapping: error))
        }
    }

    /// Any byte is a sign of life.
    private func received(_ count: Int) {
        let time = now
        state.withLock { state in
            state.link?.heartbeat.received(at: time)
            state.statistics.bytesReceived += Int64(count)
        }
    }

    /// Handles an element. Returns whether to keep reading.
    private func take(_ element: SocketDecoder.Element, _ number: Int) async -> Bool {
        switch element {
        case .message(let message):
            guard let receiver else { return await deliver(message) }
            return await deliver(message, to: receiver, number)
        case .ping(let payload):
            state.withLock { state in
                state.outbox.pong(payload)
                return state.takeWriter()
            }?.resume()
        case .pong(let payload):
            let time = now
            let confirmed = state.withLock { state in
                let confirmed = state.link?.heartbeat.pong(payload, at: time) ?? []
                state.countUnconfirmed()
                return confirmed
            }
            for (reply, roundTrip) in confirmed { reply.fulfill(.success(roundTrip)) }
        case .close(let close):
            closed(by: close)
        }
        return true
    }

    /// Adds a message to the inbox and waits while the inbox is full. Returns false if it is still full when the
    /// connection ends, because the rest of a compressed chunk may be large.
    private func deliver(_ message: SocketMessage) async -> Bool {
        let (reader, isFull) = state.withLock { state -> (Waiter?, Bool) in
            state.statistics.messagesReceived += 1
            state.link?.hasReceived = true
            guard state.link?.greeting != nil else {
                return (state.inbox.append(message), state.inbox.isFull)
            }
            return (state.link?.greeting?.append(message), state.link?.greeting?.isFull ?? false)
        }
        reader?.resume()
        guard isFull else { return true }
        hold(true)
        await state.suspend { state, source in
            guard let link = state.link, !link.isOver else { return false }
            guard link.greeting == nil else { return state.link?.greeting?.waitForRoom(source) ?? false }
            return state.inbox.waitForRoom(source)
        }
        hold(false)
        return state.withLock { state in
            guard let link = state.link, link.isOver else { return true }
            return !(link.greeting ?? state.inbox).isFull
        }
    }

    private func deliver(_ message: SocketMessage, to receiver: any SocketReceiver, _ number: Int) async -> Bool {
        state.withLock { $0.statistics.messagesReceived += 1 }
        guard let wait = receiver.receive(message, from: self, connection: number) else { return true }
        hold(true)
        let hasRoom = await wait { state.withLock { $0.link?.isOver ?? true } }
        hold(false)
        return hasRoom
    }

    /// Records that reading is paused or resumed: no pong is overdue while this side does not read.
    private func hold(_ isHeld: Bool) {
        let time = now
        state.withLock { state in
            state.link?.heartbeat.hold(isHeld, at: time)
            state.link?.limitReading(at: time, options.closeTimeout)
        }
        schedule()
    }

    /// Gives the application time to reply to earlier messages before the connection fails: until it waits for another
    /// message, and for the close timeout at most.
    private func waitForReplies() async {
        guard receiver == nil else { return }
        let deadline = now + options.closeTimeout
        let alarm = client.deadlines.add(deadline) { [weak self] in
            self?.state.withLock { state in
                [state.inbox.takeSource(), state.link?.greeting?.takeSource()]
            }.forEach { $0?.resume() }
        }
        hold(true)
        // The messages of a greeting may have moved to the inbox of the open socket meanwhile.
        while now < deadline, state.withLock({ $0.mayReply }) {
            await state.suspend { $0.waitForReader($1) }
        }
        hold(false)
        client.deadlines.remove(alarm)
    }

    /// Confirms the peer's close frame (RFC 6455, section 5.5.1). The connection is over when the peer ends it.
    private func closed(by close: SocketClose) {
        beginEnd(.closedByPeer(close), close)
    }

    /// Fails the connection (RFC 6455, section 7.1.7): sends the code of the fault and discards further messages.
    /// Reading continues, since a reset could overtake the close frame.
    private func fail(_ fault: SocketFault) {
        beginEnd(.failed(fault), SocketClose(code: fault.code, reason: fault.reason))
    }

    /// Sends a close frame ahead of everything else, unless one was sent; then the peer ends the connection.
    private func beginEnd(_ end: SocketStateMachine.End, _ close: SocketClose) {
        let time = now
        let (writer, connection) = state.withLock { state -> (Waiter?, (any DuplexConnection)?) in
            guard let link = state.link, !link.isOver else { return (nil, nil) }
            if link.end == nil { state.link?.end = end }
            if case .closedByPeer(let close) = end { state.link?.closeReceived = close }
            state.link?.closeDeadline = min(link.closeDeadline, time + options.closeTimeout)
            state.link?.isPeerDone = true
            // Both sides have closed, unless this side's frame is still to be written.
            if state.outbox.hasClosed { return (nil, link.batch?.hasClose == true ? nil : link.connection) }
            state.outbox.closeNow(state.close ?? close)
            return (state.takeWriter(), nil)
        }
        connection?.finishWriting()
        writer?.resume()
        schedule()
    }

    // MARK: Writing

    func writeAll(to connection: any DuplexConnection) async {
        while let (next, started) = await nextBatch() {
            var batch = next
            guard started != nil || encode(&batch) else { continue }
            do {
                if let started {
                    try await started.finishStarted()
                } else if !batch.bytes.isEmpty {
                    // The compressor may have buffered the whole fragment.
                    try await connection.write(batch.bytes)
                }
            } catch {
                return couldNotWrite(PulseError(wrapping: error))
            }
            if wrote(batch) { connection.finishWriting() }
        }
    }

    /// Waits for the next batch. Returns it with the connection that has begun to write it; nil once nothing follows.
    private func nextBatch() async -> (SocketOutbox.Batch, (any EagerConnection)?)? {
        enum Step {
            case write(SocketOutbox.Batch)
            case finish(SocketOutbox.Batch, any EagerConnection)
            case wait
            case end
        }
        while true {
            let time = now
            let step = state.withLock { state -> Step in
                guard let link = state.link, !link.isOver, link.failure == nil else { return .end }
                if let (batch, connection) = state.link?.takeStarted() { return .finish(batch, connection) }
                guard !state.outbox.hasClosed else { return .end }
                return state.takeBatch(at: time).map { .write($0) } ?? .wait
            }
            switch step {
            case .end: return nil
            case .write(let batch): return (batch, nil)
            case .finish(let batch, let connection): return (batch, connection)
            case .wait: await withCheckedContinuation { if !park($0) { $0.resume() } }
            }
        }
    }

    /// Suspends the writing task until there is something to write. Returns false if there is, or nothing follows.
    func park(_ writer: Waiter) -> Bool {
        state.withLock { state in
            guard let link = state.link, !link.isOver, !state.outbox.hasWork else { return false }
            state.link?.writer = writer
            return true
        }
    }

    /// Records that a batch was handed to the system. Returns whether both sides have closed.
    func wrote(_ batch: SocketOutbox.Batch) -> Bool {
        let isOver = state.withLock { state in
            state.link?.batch = nil
            state.link?.sentCount += batch.completed.count
            state.statistics.bytesSent += Int64(batch.bytes.count)
            state.statistics.messagesSent += batch.completed.count
            state.countUnconfirmed()
            return batch.hasClose && state.link?.isPeerDone == true
        }
        for item in batch.completed { item.reply.fulfill(.success(())) }
        return isOver
    }

    /// Records a write failure. Reading continues for a while: data from the peer may contain the reason.
    func couldNotWrite(_ error: PulseError) {
        let time = now
        state.withLock { state in
            state.link?.failure = error
            state.link?.limitReading(at: time, options.closeTimeout)
        }
        schedule()
    }

    /// Encodes a batch outside of the lock. Returns false if it cannot be encoded, which fails the connection.
    func encode(_ batch: inout SocketOutbox.Batch) -> Bool {
        guard var encoder = state.withLock({ $0.link?.encoder }) else { return false }
        do throws(SocketFault) {
            try batch.encode(with: &encoder)
        } catch {
            couldNotEncode(batch, error)
            return false
        }
        state.withLock { $0.link?.encoder = encoder }
        return true
    }

    /// Fails the connection: the rest of a message cannot be compressed, so no other may follow.
    private func couldNotEncode(_ batch: SocketOutbox.Batch, _ fault: SocketFault) {
        state.withLock { state in
            state.link?.batch = nil
            state.outbox.couldNotEncode(batch)
        }
        fail(fault)
    }

    // MARK: The end

    /// Marks the connection as over, and resumes the tasks that wait for it.
    ///
    /// - Parameter error: nil if the peer has ended it, or the close timeout has passed.
    private func over(_ number: Int, _ error: PulseError?) {
        struct Effects {
            let connection: any DuplexConnection
            let waiters: [Waiter?]
            let interruption: (@Sendable () -> Void)?
        }
        let effects = state.withLock { state -> Effects? in
            guard let link = state.link, link.number == number, !link.isOver else { return nil }
            state.link?.isOver = true
            if link.end == nil { state.link?.end = .lost(link.failure ?? error ?? .lostMaybeSent) }
            let waiters = [
                state.takeWriter(), state.inbox.takeSource(), state.link?.greeting?.takeSource(),
                state.link?.greeting?.end(.lostMaybeSent),
            ]
            return Effects(
                connection: link.connection, waiters: waiters,
                interruption: link.greeting == nil || link.hasReceived ? nil : state.interruption)
        }
        guard let effects else { return }
        effects.connection.close()
        receiver?.disconnected(self)
        for waiter in effects.waiters { waiter?.resume() }
        effects.interruption?()
    }

    // MARK: The alarm

    /// Sets the connection's alarm for the next deadline. Call it after a change that may bring the deadline forward.
    func schedule() {
        let due = state.withLock { state -> (number: Int, deadline: TimeInterval)? in
            guard let link = state.link, !link.isOver, link.deadline < link.alarmDeadline else { return nil }
            state.link?.alarmDeadline = link.deadline
            return (link.number, link.deadline)
        }
        guard let due else { return }
        let alarm = client.deadlines.add(due.deadline) { [weak self] in self?.tick(due.number, due.deadline) }
        let needless = state.withLock { state -> DeadlineHeap.Alarm? in
            // It may have fired already, or an earlier one was set.
            guard let link = state.link, link.number == due.number, !link.isOver, link.alarmDeadline == due.deadline
            else { return alarm }
            state.link?.alarm = alarm
            return link.alarm
        }
        if let needless { client.deadlines.remove(needless) }
    }

    /// Handles the alarm for a deadline.
    private func tick(_ number: Int, _ deadline: TimeInterval) {
        enum Due {
            case nothing
            case ping(Waiter?)
            case overdue([SocketHeartbeat.Reply])
            case loss
            case end
        }
        // The clock may be early by a rounding error.
        let time = max(now, deadline)
        let due = state.withLock { state -> Due in
            guard let link = state.link, link.number == number, !link.isOver else { return .nothing }
            // An earlier alarm may have replaced this one.
            if link.alarmDeadline == deadline {
                state.link?.alarm = nil
                state.link?.alarmDeadline = .infinity
            }
            if time >= link.closeDeadline { return .end }
            switch state.link?.heartbeat.due(at: time) {
            case .nothing, nil: return .nothing
            case .loss: return .loss
            case .overdue:
                return .overdue((state.link?.heartbeat.takeReplies() ?? []) + state.outbox.takePingReplies())
            case .ping:
                state.ping(nil, at: time)
                return .ping(state.takeWriter())
            }
        }
        switch due {
        case .nothing: break
        case .ping(let writer): writer?.resume()
        case .overdue(let replies): for reply in replies { reply.fulfill(.failure(.timedOutMaybeSent)) }
        case .loss: over(number, .timedOutMaybeSent)
        case .end: over(number, nil)
        }
        schedule()
    }
}
