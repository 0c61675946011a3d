// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore

/// The state of a socket, and its entry points. One task connects, serves the connection and reconnects
/// (`SocketCore+Run.swift`); a connection has one task that reads and one that writes (`SocketCore+Connection.swift`).
package final class SocketCore: Sendable {
    package typealias Waiter = CheckedContinuation<Void, Never>
    typealias ConnectReply = Promise<Result<Void, PulseError>>
    package typealias Greeter = @Sendable (PulseSocket.Greeting) async throws -> Void

    package let client: PulseClient
    let options: SocketOptions
    let pingInterval: TimeInterval
    private let encoder: any RequestEncoder
    /// Maximum duration of the greeting in seconds.
    let greetingTimeout: TimeInterval
    /// Plans the call that performs a handshake.
    let plan: @Sendable (_ isReconnect: Bool) throws -> CallPlan
    let greeter: Greeter?
    /// Receives the messages in place of the inbox; nil to use the inbox.
    let receiver: (any SocketReceiver)?
    let state: Locked<State>
    private let tag: String?
    private let broadcast = Broadcast(SocketState.idle, bufferSize: 64)

    package init<E: SocketEndpoint>(
        _ endpoint: E, _ client: PulseClient, _ greeter: Greeter?, receiver: (any SocketReceiver)? = nil,
        greetingTimeout: TimeInterval? = nil
    ) {
        self.client = client
        self.receiver = receiver
        options = endpoint.socketOptions
        // The type annotation matters: without it, this would be the `Int` property, which has a default.
        let interval: TimeInterval = endpoint.pingInterval
        pingInterval = interval
        let callOptions = endpoint.options
        encoder = callOptions.encoder ?? client.configuration.encoder
        self.greetingTimeout = greetingTimeout ?? callOptions.timeout ?? client.configuration.timeout
        tag = callOptions.tag
        self.greeter = greeter
        plan = { try client.handshake(endpoint, isReconnect: $0) }
        let path = (try? endpoint.path.requestPath.text) ?? ""
        let summary = client.call(to: path, E.self, .get, callOptions, .upgrade).firstSummary
        state = Locked(
            State(
                machine: SocketStateMachine(options), inbox: SocketInbox(limit: options.receiveBuffer),
                summary: summary))
    }

    var environment: CallEnvironment { client.environment }
    /// The path of the endpoint for log text, without its secrets.
    var shownPath: String { state.withLock { $0.summary.endpointPath } }
    /// The request of the latest handshake, without its headers.
    var request: URLRequest? { state.withLock { $0.request } }
    var now: TimeInterval { environment.clock.uptime }

    // MARK: States

    /// The last recorded state; or the end before it is recorded, since every use throws it by then.
    var currentState: SocketState {
        state.withLock { state in
            guard case .closed(let error) = state.machine.phase else { return state.current }
            return .closed(error ?? state.closeError)
        }
    }
    var states: AsyncStream<SocketState> { broadcast.updates() }
    var hasFinished: Bool { state.withLock { $0.hasFinished } }
    var statistics: PulseSocket.Statistics { state.withLock { $0.statistics } }

    /// Records the next state, under the lock so that the order of changes is kept.
    func note(_ next: SocketState, _ state: inout State) {
        guard !state.hasFinished else { return }
        state.current = next
        state.pendingEvents.append(.socketStateChanged(state.summary, next))
        if case .closed = next { state.hasFinished = true }
    }

    /// Publishes what was recorded, in order and outside of the lock: events to the bus, states also to ``states``.
    func publishEvents() {
        while true {
            let next = state.withLock { state -> NetworkEvent? in
                guard !state.isPublishing, !state.pendingEvents.isEmpty else { return nil }
                state.isPublishing = true
                return state.pendingEvents.removeFirst()
            }
            guard let next else { return resumeClosing() }
            if case .socketStateChanged(_, let current) = next {
                if case .closed = current { broadcast.finish(with: current) } else { broadcast.set(current) }
            }
            if let events = environment.events, events.isActive { events.emit(next) }
            state.withLock { $0.isPublishing = false }
        }
    }

    /// Resumes the tasks that wait for the end, once it is published: another task may be publishing it.
    func resumeClosing() {
        let closes = state.withLock { state -> [Promise<Void>] in
            guard state.hasEnded else { return [] }
            defer { state.closes = [] }
            return state.closes
        }
        for close in closes { close.fulfill(()) }
    }

    /// Wraps the bytes of a message in a response to the latest handshake, for error messages; nil without a handshake.
    package func response(with bytes: Data) -> PulseResponse? {
        guard let request else { return nil }
        var response = PulseResponse(statusCode: 101, data: bytes, request: request)
        response.marks = PulseResponse.Marks.of(redaction: environment.redaction)
        return response
    }

    /// The error for a message that does not decode.
    func failure(
        _ error: any Error, decoding type: Any.Type, _ message: SocketMessage, by decoder: any ResponseDecoder
    ) -> PulseError {
        guard let part = response(with: message.bytes) else {
            return .decodingFailed(type: "\(type)", underlying: error)
        }
        let element = if case .text = message { "a text message" } else { "a binary message" }
        let failure = PulseError(decoding: type, error, of: part, as: decoder.contentType, element: element)
        return failure.kind == .decodingFailed ? failure : .decodingFailed(type: "\(type)", underlying: error)
    }

    /// Adds the request of the latest handshake, if there was one, to the text of an error.
    func named(_ error: any Error) -> PulseError {
        PulseError(wrapping: error).naming(
            request: request.map { PulseError.text(of: $0, maskedBy: environment.redaction) })
    }

    func warn(_ text: String) {
        environment.warn(text)
    }

    // MARK: Connecting

    package func connect() async throws {
        if Task.isCancelled { throw PulseError.cancelled }
        if let fault = options.fault(pingInterval: pingInterval) { throw PulseError.invalidRequest(reason: fault) }
        let reply = ConnectReply()
        let action = try state.withLock { state -> SocketStateMachine.Action? in
            switch state.machine.phase {
            case .open: _ = reply.store(.success(()))
            case .closing, .closed: throw state.endError
            case .connecting, .waiting: state.connects.append(reply)
            case .idle:
                state.connects.append(reply)
                return state.machine.connect()
            }
            return nil
        }
        if let action { start(action) }
        try await reply.value { [self] in leave(reply) }.get()
    }

    private func start(_ action: SocketStateMachine.Action) {
        let isAdded = client.calls.add(self, tag: tag) { [weak self] in
            guard let self else { return }
            // At once, so that work that begins afterwards does not end with this socket.
            receiver?.ended(self, by: .cancelled)
            goAway()
        } ended: { [weak self] in
            await self?.end()
        }
        Task { await run(isAdded ? action : state.withLock { $0.machine.finish(.cancelled) }) }
    }

    /// Handles the cancellation of a task in ``connect()``. The last one also cancels a first attempt.
    private func leave(_ reply: ConnectReply) {
        let interruption = state.withLock { state -> (@Sendable () -> Void)? in
            guard let index = state.connects.firstIndex(where: { $0 === reply }) else { return nil }
            state.connects.remove(at: index)
            guard state.connects.isEmpty, !state.machine.hasBeenOpen else { return nil }
            state.isAbandoned = true
            return state.interruption
        }
        reply.fulfill(.failure(.cancelled))
        interruption?()
    }

    // MARK: Sending

    /// Encodes a value as a message. Throws ``PulseError/encodingFailed(underlying:)``.
    func message(of value: some Encodable) throws -> SocketMessage {
        do {
            let data = try encoder.encode(value)
            guard options.encoding == .text else { return .binary(data) }
            guard let text = String(data: data, encoding: .utf8) else { throw NotText() }
            return .text(text)
        } catch {
            throw error as? PulseError ?? .encodingFailed(underlying: error)
        }
    }

    /// - Parameter greeting: the number of the connection that the greeting belongs to; nil for other messages.
    func send(_ message: SocketMessage, greeting: Int? = nil) async throws {
        if Task.isCancelled { throw PulseError.cancelled }
        let item = SocketOutbox.Item(message, isGreeting: greeting != nil)
        do {
            let writer = try state.withLock { state in
                try state.checkSending(greeting: greeting, waits: options.whileDown == .waits)
                state.outbox.append(item)
                return state.takeWriter()
            }
            if let writer { write(insteadOf: writer) }
            try await item.reply.value { [self] in
                if state.withLock({ $0.outbox.takeBack(item) }) { item.reply.fulfill(.failure(.cancelled)) }
            }.get()
        } catch {
            throw named(error)
        }
    }

    /// Queues a message on a connection, without waiting until it is sent. With ``SocketOptions/WhileDown/fails`` it is
    /// dropped with the connection. Returns false if it can no longer be sent there.
    ///
    /// - Parameter limit: maximum number of queued messages; a message beyond it is dropped.
    /// - Parameter writer: set to the writing task if it must be resumed, by ``write(insteadOf:)`` outside of locks.
    package func enqueue(
        _ message: SocketMessage, on connection: Int, limit: Int = .max, resuming writer: inout Waiter?
    ) -> Bool {
        state.withLock { state in
            guard state.close == nil, let link = state.link, link.number == connection, link.isUp,
                state.outbox.count < limit
            else { return false }
            state.outbox.append(SocketOutbox.Item(message, isGreeting: link.greeting != nil))
            writer = writer ?? state.takeWriter()
            return true
        }
    }

    func ping() async throws -> TimeInterval {
        if Task.isCancelled { throw PulseError.cancelled }
        let (reply, time) = (SocketHeartbeat.Reply(), now)
        do {
            let writer = try state.withLock { state in
                try state.checkSending(greeting: nil, waits: false)
                state.ping(reply, at: time)
                return state.takeWriter()
            }
            writer?.resume()
            schedule()
            // The pong then resumes no task.
            return try await reply.value { reply.fulfill(.failure(.cancelled)) }.get()
        } catch {
            throw named(error)
        }
    }

    // MARK: Receiving

    /// Returns the next message. Throws ``PulseError/invalidRequest(reason:)`` if another task reads, and the end of
    /// the socket once all messages are read.
    ///
    /// - Parameter greeting: as in ``send(_:greeting:)``.
    func receive(greeting: Int? = nil) async throws -> SocketMessage {
        if Task.isCancelled { throw PulseError.cancelled }
        let reply = SocketInbox.Reply()
        let source = try state.withLock { state in
            guard let greeting else {
                return try state.inbox.read(reply, orThrow: state.isClosed ? state.endError : nil)
            }
            guard state.link?.number == greeting, state.link?.greeting != nil else {
                throw PulseError.invalidRequest(reason: "the greeting is over: use the socket")
            }
            let isOver = state.link?.isOver ?? true
            return try state.link?.greeting?.read(reply, orThrow: isOver ? .lostMaybeSent : nil)
        }
        source?.resume()
        let message = await reply.value { [self] in
            state.withLock { state in
                state.inbox.leave(reply)
                state.link?.greeting?.leave(reply)
            }
            // Has no effect if a message has just arrived.
            reply.fulfill(.failure(.cancelled))
        }
        return try message.mapError { named($0) }.get()
    }

    // MARK: Closing

    func close(code: Int, reason: String) async {
        var close = SocketClose(code: code, reason: reason)
        if !SocketClose.isSendable(code) || close.payload == nil {
            close = SocketClose(code: 1000)
            warn("a socket cannot close with code \(code) and a reason of \(reason.utf8.count) bytes: it sends 1000")
        }
        beginClose(close)
        await end()
    }

    /// Waits until the socket has ended and its events are published.
    private func end() async {
        let reply = Promise<Void>()
        state.withLock { state in
            if state.hasEnded { _ = reply.store(()) } else { state.closes.append(reply) }
        }
        await reply.value()
    }

    /// Closes with code 1001 (going away), when the client ends or the application has released the socket.
    func goAway() {
        beginClose(SocketClose(code: 1001))
    }

    /// Begins to close: an open socket by the close handshake, any other at once.
    ///
    /// - Parameter cause: why this side closes; nil if the application asked for it.
    package func beginClose(_ close: SocketClose, because cause: PulseError? = nil) {
        struct Effects {
            var waiter: Waiter?
            var refused: [SocketOutbox.Item] = []
            var interruption: (@Sendable () -> Void)?
            var wasIdle = false
        }
        let time = now
        let effects = state.withLock { state -> Effects in
            guard !state.isClosed, state.close == nil else { return Effects() }
            (state.close, state.closeError) = (close, cause)
            if case .idle = state.machine.phase {
                _ = state.machine.finish(cause)
                return Effects(wasIdle: true)
            }
            guard state.machine.close() else { return Effects(interruption: state.interruption) }
            note(.closing, &state)
            if state.link?.end == nil {
                state.link?.end = .closedHere
                state.link?.closeDeadline = time + options.closeTimeout
            }
            return Effects(
                waiter: state.takeWriter(), refused: state.outbox.close(close, room: options.sendBuffer))
        }
        publishEvents()
        effects.waiter?.resume()
        effects.interruption?()
        for item in effects.refused {
            item.reply.fulfill(.failure(.socketClosed(code: close.code, reason: close.reason)))
        }
        schedule()
        if effects.wasIdle { finish(cause) }
    }
}

extension PulseError {
    /// The connection is lost, and nothing was sent.
    static var lostUnsent: PulseError {
        PulseError(
            wrapping: TransportFailure(
                code: .networkConnectionLost, phase: .beforeSend, underlying: SocketLoss.unsent))
    }

    /// The error for a message of which nothing was sent, where `self` ended its socket.
    var ofUnsent: PulseError {
        guard let phase, phase != .beforeSend else { return self }
        return PulseError(
            wrapping: TransportFailure(code: .networkConnectionLost, phase: .beforeSend, underlying: self))
    }

    /// The peer is silent, or this side does not read.
    static var timedOutMaybeSent: PulseError {
        PulseError(wrapping: TransportFailure(code: .timedOut, phase: .maybeSent, underlying: SocketLoss.silence))
    }

    /// The connection is lost, and a part may have been sent.
    static var lostMaybeSent: PulseError {
        PulseError(
            wrapping: TransportFailure(code: .networkConnectionLost, phase: .maybeSent, underlying: SocketLoss.end))
    }
}

/// How a socket lost its connection, for error messages.
enum SocketLoss: Error, CustomStringConvertible {
    case unsent, end, silence, greeting

    var description: String {
        switch self {
        case .unsent: "the socket has no connection"
        case .end: "the connection of the socket has ended"
        case .silence: "no byte came after a ping for the pong timeout"
        case .greeting: "the greeting (onOpen) took longer than the idle timeout"
        }
    }
}

private struct NotText: Error, CustomStringConvertible {
    var description: String { "the encoded value is no UTF-8, and the socket sends text" }
}
