// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulsePlatform
import PulseTransports

/// The main task of a socket: performs handshakes, serves each connection until it ends, and waits between attempts.
extension SocketCore {
    func run(_ first: SocketStateMachine.Action) async {
        var action = first
        while true {
            switch action {
            case .connect(let attempt):
                action = await connect(attempt: attempt)
            case .wait(let seconds, _, _):
                await wait(seconds)
                await waitForRoom()
                action = state.withLock { $0.machine.waited() }
            case .rest(let error):
                guard let next = rest(after: error) else { return }
                action = next
            case .finish(let error):
                return finish(error)
            }
        }
    }

    /// Waits until the next attempt; ``beginClose(_:because:)`` and ``leave(_:)`` end the wait.
    private func wait(_ seconds: TimeInterval) async {
        let task = Task.startingNow { [environment] in await environment.wait(seconds) }
        interrupt { task.cancel() }
        defer { state.withLock { $0.interruption = nil } }
        _ = try? await task.value
    }

    /// Registers the closure that interrupts the work in progress, or calls it if that is already due.
    private func interrupt(by interruption: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            state.interruption = interruption
            return state.close != nil || state.isAbandoned || state.link?.endsGreeting == true
        }
        if isLate { interruption() }
    }

    /// Waits until the inbox has room for the messages of another connection.
    private func waitForRoom() async {
        interrupt { [self] in state.withLock { $0.inbox.takeSource() }?.resume() }
        defer { state.withLock { $0.interruption = nil } }
        await state.suspend { $0.close == nil && $0.inbox.waitForRoom($1) }
    }

    // MARK: A connection

    private func connect(attempt: Int) async -> SocketStateMachine.Action {
        let (isReconnect, isKept) = state.withLock { state in
            note(.connecting(attempt: attempt), &state)
            return (state.machine.hasBeenOpen, state.machine.isKept)
        }
        publishEvents()
        do {
            let response = try await handshake(isReconnect: isReconnect || isKept)
            guard let connection = response.connection else {
                response.discard()
                throw PulseError.unsupported("the transport has no sockets")
            }
            do {
                try receiver?.connected(self, with: response)
            } catch {
                response.discard()
                throw error
            }
            return await ended(await serve(connection, response, isReconnect: isReconnect))
        } catch {
            return await ended(.lost(PulseError(wrapping: error)))
        }
    }

    /// Performs a handshake; ``beginClose(_:because:)`` and ``leave(_:)`` cancel it.
    private func handshake(isReconnect: Bool) async throws -> PulseResponse {
        let plan = try self.plan(isReconnect)
        // Before the first event of the call.
        state.withLock { $0.summary = $0.summary.caused(by: plan.call.id) }
        let call = try client.begin(plan)
        interrupt { call.cancel() }
        defer { state.withLock { $0.interruption = nil } }
        return try await call.response()
    }

    private func ended(_ end: SocketStateMachine.End) async -> SocketStateMachine.Action {
        var end = end
        var retryAfter: TimeInterval?
        if case .lost(let error) = end {
            end = .lost(named(error))
            retryAfter = error.retryAfter(now: environment.clock.now)
        }
        let (time, unit) = (now, environment.randomness.unit())
        let action = state.withLock { state in
            let action = state.machine.ended(end, at: time, retryAfter: retryAfter, unit: unit)
            if case .wait(let delay, let error, let attempt) = action {
                note(
                    .reconnecting(after: error, attempt: attempt, delay: delay, unconfirmed: state.unreportedLoss),
                    &state)
                state.unreportedLoss = 0
            }
            return action
        }
        if case .wait(let delay, let error, _) = action {
            if let asked = options.reconnect.refusedWait(retryAfter) {
                environment.warn("a socket waits for \(delay) s, though its server asks for \(asked) s")
            }
            await receiver?.interrupted(self, by: error)
        }
        publishEvents()
        return action
    }

    /// Runs the greeting, and reads and writes until the connection is over.
    private func serve(
        _ connection: any DuplexConnection, _ response: PulseResponse, isReconnect: Bool
    ) async -> SocketStateMachine.End {
        let time = now
        let compression = SocketUpgrade.compression(of: response)
        let request = response.request.url.map { URLRequest(url: $0) }
        let number = state.withLock { state in
            state.request = request
            state.linkCount += 1
            state.statistics.unconfirmed = 0
            state.outbox.isGreeting = true
            state.link = Link(
                number: state.linkCount, connection: connection, eager: connection as? any EagerConnection,
                encoder: SocketEncoder(compression),
                greeting: SocketInbox(limit: options.receiveBuffer),
                heartbeat: SocketHeartbeat(
                    interval: pingInterval, pongTimeout: options.pongTimeout, openedAt: time),
                openedAt: time, initial: state.statistics)
            if receiver != nil { state.machine.keep() }
            return state.linkCount
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                let readAll: @Sendable () async -> Void = { await self.readAll(from: connection, number, compression) }
                // Decompression and a receiver would occupy the thread of all connections for too long.
                guard compression == nil, receiver == nil, let eager = connection as? any EagerConnection else {
                    return await readAll()
                }
                await eager.readingNearby(readAll)
            }
            group.addTask { [self] in await writeAll(to: connection) }
            schedule()
            do {
                try await greet(
                    PulseSocket.Greeting(core: self, number: number, isReconnect: isReconnect, response: response))
                open(subprotocol: response.headers["Sec-WebSocket-Protocol"])
            } catch {
                refuse(PulseError(wrapping: error))
            }
            await group.waitForAll()
        }
        return endLink()
    }

    /// Runs the greeting; gives up after ``greetingTimeout``, or when the connection is over or the socket closes.
    private func greet(_ greeting: PulseSocket.Greeting) async throws {
        guard let greeter else { return }
        let reply = Promise<Result<Void, any Error>>()
        let task = Task {
            do {
                reply.fulfill(.success(try await greeter(greeting)))
            } catch {
                reply.fulfill(.failure(error))
            }
        }
        defer { task.cancel() }
        let alarm = client.deadlines.add(now + greetingTimeout) {
            let failure = TransportFailure(
                code: .timedOut, phase: .responseStarted, underlying: SocketLoss.greeting)
            reply.fulfill(.failure(failure))
        }
        defer { client.deadlines.remove(alarm) }
        interrupt { [self] in
            reply.fulfill(.failure(state.withLock { $0.close == nil ? PulseError.lostMaybeSent : .cancelled }))
        }
        defer { state.withLock { $0.interruption = nil } }
        try await reply.value().get()
    }

    private func open(subprotocol: String?) {
        let time = now
        let waiters = state.withLock { state -> [Waiter?]? in
            let isLeft = state.isAbandoned && state.connects.isEmpty
            // The peer may have closed already: without a receiver, the socket opens to deliver earlier messages.
            guard !isLeft, let link = state.link, link.refusal == nil, receiver == nil || link.isUp,
                state.machine.opened(at: time)
            else { return nil }
            state.isAbandoned = false
            state.statistics.connections += 1
            var waiters: [Waiter?] = []
            if var greeting = state.link?.greeting.take() {
                waiters += [greeting.takeSource(), greeting.end(.lostMaybeSent), state.inbox.append(all: greeting)]
            }
            state.outbox.isGreeting = false
            waiters.append(state.takeWriter())
            note(.open(subprotocol: subprotocol), &state)
            waiters += state.connects.map { $0.store(.success(())) }
            state.connects = []
            return waiters
        }
        publishEvents()
        // The socket was closed, abandoned or disconnected meanwhile.
        guard let waiters else { return refuse(.cancelled) }
        for waiter in waiters { waiter?.resume() }
    }

    /// Closes a connection on which the socket has not opened. The error becomes its end, unless it has already ended.
    private func refuse(_ error: PulseError) {
        let time = now
        let writer = state.withLock { state -> Waiter? in
            guard let link = state.link, link.isUp else { return nil }
            let close = state.close ?? SocketClose(refusing: error)
            state.link?.end = .lost(error)
            state.link?.refusal = close
            state.link?.closeDeadline = time + options.closeTimeout
            state.outbox.closeNow(close)
            return state.takeWriter()
        }
        writer?.resume()
        schedule()
    }

    /// Removes the connection and fails what it left unsent. Returns how it ended.
    private func endLink() -> SocketStateMachine.End {
        struct Ended {
            let end: SocketStateMachine.End
            var event: EndedLink?
            var alarm: DeadlineHeap.Alarm?
            var leftover = SocketOutbox.Leftover()
            var pings: [SocketHeartbeat.Reply] = []
            var waiters: [Waiter?] = []
        }
        let ended = state.withLock { state -> Ended in
            guard var link = state.link.take() else { return Ended(end: .closedHere) }
            let hasSentClose = state.outbox.hasClosed && link.batch?.hasClose != true
            let leftover = state.outbox.endConnection(
                link.batch, isUnsent: link.failure?.phase == .beforeSend, keepsUnsent: options.whileDown == .waits)
            let unconfirmed = link.sentCount + leftover.maybeSent.count - link.heartbeat.confirmedCount
            state.statistics.unconfirmed = unconfirmed
            state.unreportedLoss = unconfirmed
            var waiters: [Waiter?] = []
            if var greeting = link.greeting.take() {
                waiters = [greeting.end(.lostMaybeSent), state.inbox.append(all: greeting)]
            }
            let end = link.end ?? .lost(link.failure ?? .lostMaybeSent)
            let event = EndedLink(
                link: link, end: end, close: state.close, closeError: state.closeError, hasSentClose: hasSentClose,
                statistics: state.statistics, summary: state.summary)
            return Ended(
                end: end, event: event, alarm: link.alarm, leftover: leftover, pings: link.heartbeat.takeReplies(),
                waiters: waiters)
        }
        if let event = ended.event { note(event) }
        if let alarm = ended.alarm { client.deadlines.remove(alarm) }
        for waiter in ended.waiters { waiter?.resume() }
        for ping in ended.pings + ended.leftover.pings { ping.fulfill(.failure(.lostMaybeSent)) }
        for item in ended.leftover.maybeSent { item.reply.fulfill(.failure(.lostMaybeSent)) }
        for item in ended.leftover.unsent { item.reply.fulfill(.failure(.lostUnsent)) }
        return ended.end
    }

    // MARK: The end

    /// Makes the socket idle again after the first attempt has failed. Returns the next action if the socket was closed
    /// meanwhile, or a task called ``connect()`` while the failed attempt was being cancelled.
    private func rest(after error: PulseError) -> SocketStateMachine.Action? {
        let (action, connects, items) = state.withLock {
            state -> (SocketStateMachine.Action?, [ConnectReply], [SocketOutbox.Item]) in
            let wasAbandoned = state.isAbandoned
            state.isAbandoned = false
            if state.close != nil { return (state.machine.finish(nil), [], []) }
            note(.idle, &state)
            if wasAbandoned, !state.connects.isEmpty { return (state.machine.connect(), [], []) }
            state.machine.rest()
            client.calls.remove(self)
            defer { state.connects = [] }
            return (nil, state.connects, state.outbox.removeAll())
        }
        publishEvents()
        for connect in connects { connect.fulfill(.failure(error)) }
        for item in items { item.reply.fulfill(.failure(error.ofUnsent)) }
        return action
    }

    func finish(_ error: PulseError?) {
        struct Ended {
            let error: PulseError
            let connects: [ConnectReply]
            let items: [SocketOutbox.Item]
            let reader: Waiter?
        }
        let ended = state.withLock { state -> Ended in
            let cause = error ?? state.closeError
            _ = state.machine.finish(cause)
            note(.closed(cause), &state)
            defer { state.connects = [] }
            let end = state.endError
            return Ended(
                error: end, connects: state.connects, items: state.outbox.removeAll(), reader: state.inbox.end(end))
        }
        client.calls.remove(self)
        publishEvents()
        receiver?.ended(self, by: error ?? state.withLock { $0.closeError } ?? .cancelled)
        ended.reader?.resume()
        for connect in ended.connects { connect.fulfill(.failure(ended.error)) }
        for item in ended.items { item.reply.fulfill(.failure(ended.error.ofUnsent)) }
        state.withLock { $0.isDone = true }
        resumeClosing()
    }
}

extension SocketClose {
    /// The code and reason to send when the greeting fails with an error.
    fileprivate init(refusing error: PulseError) {
        self.init(code: 1000)
        guard case .socketClosed(let code, let reason) = error else { return }
        let close = SocketClose(code: code, reason: reason)
        if close.payload != nil { self = close }
    }
}
