// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulsePlatform
import PulseSockets

/// The subscriptions of a client at one path, which share a socket. The first one opens it.
final class SubscriptionHub: Sendable {
    private struct Entry {
        let feed: SubscriptionFeed
        /// Its `subscribe` message.
        let message: SocketMessage
    }

    private struct State {
        var machine = SubscriptionStateMachine()
        var entries: [Int: Entry] = [:]
        var socket: SocketCore?
        /// The outcome of the protocol handshake, once it is known.
        var acknowledgement: Promise<Result<Void, PulseError>>?
        /// Closes the unused socket.
        var alarm: DeadlineHeap.Alarm?
        var isUnused = false
        /// Identifies a period in which the socket is unused.
        var unusedCount = 0
        /// The states to publish, in order.
        var pendingStates: [(feed: SubscriptionFeed, state: GraphQLSubscriptionState)] = []
        var isPublishing = false
        var lastID = 0
    }

    /// The work that a state change requires, run outside of the lock.
    private typealias Effects = [@Sendable () -> Void]

    private let path: String
    private let state = Locked(State())

    init(path: String) {
        self.path = path
    }

    /// The number of subscriptions that have not ended.
    var count: Int { state.withLock { $0.entries.count } }

    /// The response to the socket's latest handshake, with bytes of a message as its body; nil before a handshake.
    func response(with bytes: Data) -> PulseResponse? { state.withLock { $0.socket }?.response(with: bytes) }

    func newID() -> Int {
        state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
    }

    // MARK: The application

    /// - Parameter message: the `subscribe` message of the feed.
    func add(_ feed: SubscriptionFeed, _ message: SocketMessage) {
        change { state in
            state.entries[feed.id] = Entry(feed: feed, message: message)
            let action = state.machine.add(feed.id)
            var effects: Effects = []
            if case .connect = action {
                let socket = makeSocket(feed.client)
                state.socket = socket
                effects.append { [self] in open(socket) }
            }
            if let alarm = state.alarm.take() { effects.append { feed.client.deadlines.remove(alarm) } }
            return effects + perform(action, &state)
        }
    }

    func remove(_ feed: SubscriptionFeed) {
        change { state in
            state.entries[feed.id] = nil
            return perform(state.machine.remove(feed.id), &state)
        }
    }

    private func makeSocket(_ client: PulseClient) -> SocketCore {
        let settings = client.configuration.graphQL
        return SocketCore(
            GraphQLSocket(path: path, pingInterval: settings.pingInterval), client,
            { [self] in try await greet($0, settings) }, receiver: self,
            greetingTimeout: client.configuration.timeout + settings.acknowledgeTimeout)
    }

    private func open(_ socket: SocketCore) {
        Task {
            do {
                try await socket.connect()
            } catch {
                ended(socket, by: PulseError(wrapping: error))
            }
        }
    }

    // MARK: The end of the socket

    /// Closes the socket once it has been unused for the time of ``GraphQLSettings/lingers``.
    private func linger(_ number: Int, _ client: PulseClient) {
        let deadline = client.environment.clock.uptime + client.configuration.graphQL.lingers
        let alarm = client.deadlines.add(deadline) { [weak self] in self?.closeUnused(number) }
        let isLate = state.withLock { state in
            guard state.isUnused, state.unusedCount == number else { return true }
            state.alarm = alarm
            return false
        }
        if isLate { client.deadlines.remove(alarm) }
    }

    private func closeUnused(_ number: Int) {
        let socket = state.withLock { state -> SocketCore? in
            guard state.isUnused, state.unusedCount == number else { return nil }
            return drop(&state).socket
        }
        socket?.beginClose(SocketClose(code: 1000))
    }

    /// Drops the socket. Returns it with the subscriptions that end with it.
    private func drop(_ state: inout State) -> (socket: SocketCore?, feeds: [SubscriptionFeed]) {
        defer { (state.socket, state.acknowledgement, state.alarm, state.isUnused) = (nil, nil, nil, false) }
        let feeds = state.machine.endAll().compactMap { state.entries.removeValue(forKey: $0)?.feed }
        return (state.socket, feeds)
    }

    // MARK: The greeting

    /// Performs the protocol handshake on a new connection: `connection_init`, then `connection_ack`.
    private func greet(_ greeting: PulseSocket.Greeting, _ settings: GraphQLSettings) async throws {
        let initialization = try SocketMessage.initialization(await settings.connectionPayload?())
        let reply = Promise<Result<Void, PulseError>>()
        try state.withLock { state in
            // This handshake may run after its connection has ended.
            guard state.socket === greeting.core, !Task.isCancelled else { throw PulseError.cancelled }
            state.machine.initialized()
            state.acknowledgement = reply
        }
        try await greeting.send(initialization)
        let client = greeting.core.client
        let deadline = client.environment.clock.uptime + settings.acknowledgeTimeout
        let alarm = client.deadlines.add(deadline) { [self] in refuse(reply) }
        defer { client.deadlines.remove(alarm) }
        try await reply.value { reply.fulfill(.failure(.cancelled)) }.get()
    }

    /// Fails the handshake because the acknowledgement timed out. A later one is ignored.
    private func refuse(_ reply: Promise<Result<Void, PulseError>>) {
        let isRefused = state.withLock { $0.acknowledgement === reply && $0.machine.refused() }
        if isRefused { reply.fulfill(.failure(.socketClosed(code: 4504, reason: "no connection_ack in time"))) }
    }

    // MARK: Changes

    /// Changes the state, and then runs the effects outside of the lock.
    private func change(_ body: (inout State) -> Effects) {
        for effect in state.withLock(body) { effect() }
        publish()
    }

    /// Publishes the end of a subscription, after its earlier states.
    func publish(_ end: GraphQLSubscriptionState, to feed: SubscriptionFeed) {
        state.withLock { $0.pendingStates.append((feed, end)) }
        publish()
    }

    /// Publishes the states in order, outside of the lock: a reader may run on its own executor.
    private func publish() {
        while true {
            let next = state.withLock { state -> (feed: SubscriptionFeed, state: GraphQLSubscriptionState)? in
                guard !state.isPublishing, !state.pendingStates.isEmpty else { return nil }
                state.isPublishing = true
                return state.pendingStates.removeFirst()
            }
            guard let next else { return }
            next.feed.note(next.state)
            state.withLock { $0.isPublishing = false }
        }
    }

    private func perform(_ action: SubscriptionStateMachine.Action, _ state: inout State) -> Effects {
        var effects: Effects = []
        switch action {
        case .nothing, .connect, .deliver:
            break
        case .subscribe(let ids, let connection):
            if let reply = state.acknowledgement.take() { effects.append { reply.fulfill(.success(())) } }
            let entries = ids.compactMap { state.entries[$0] }
            let sent = send(entries.map(\.message), connection, state, &effects)
            // The others are subscribed on the next connection.
            state.pendingStates += entries.prefix(sent).map { ($0.feed, .active) }
        case .interrupt(let ids, let error):
            state.pendingStates += ids.compactMap { state.entries[$0] }.map { ($0.feed, .interrupted(error)) }
        case .pong(let connection):
            // Limits the pongs that are queued for a peer that sends pings but does not read.
            _ = send([.pong], connection, limit: state.entries.count + 64, state, &effects)
        case .complete(let id, let connection):
            _ = send([.complete(id: id)], connection, state, &effects)
        case .end(let id, let error):
            if let feed = state.entries.removeValue(forKey: id)?.feed { effects.append { feed.end(error) } }
        case .fail(let ids, let error, let close):
            for feed in ids.compactMap({ state.entries.removeValue(forKey: $0)?.feed }) {
                effects.append { feed.end(error) }
            }
            if let socket = drop(&state).socket { effects.append { socket.beginClose(close, because: error) } }
        }
        if state.machine.isUnused != state.isUnused {
            state.isUnused.toggle()
            state.unusedCount += 1
            if state.isUnused, let client = state.socket?.client {
                effects.append { [self, number = state.unusedCount] in linger(number, client) }
            }
        }
        return effects
    }

    /// Enqueues the messages. Returns how many of them will be sent unless the connection is lost first.
    private func send(
        _ messages: [SocketMessage], _ connection: Int, limit: Int = .max, _ state: State, _ effects: inout Effects
    ) -> Int {
        guard let socket = state.socket else { return 0 }
        var writer: SocketCore.Waiter?
        let sent = messages.prefix { socket.enqueue($0, on: connection, limit: limit, resuming: &writer) }.count
        if let writer { effects.append { socket.write(insteadOf: writer) } }
        return sent
    }
}

extension SubscriptionHub: SocketReceiver {
    func connected(_ socket: SocketCore, with response: PulseResponse) throws {
        guard response.headers["Sec-WebSocket-Protocol"] == SubscriptionMessage.subprotocol else {
            throw PulseError.unsupported("GraphQL: the server has no \(SubscriptionMessage.subprotocol)")
        }
        state.withLock { if $0.socket === socket { $0.machine.connected() } }
    }

    func receive(_ message: SocketMessage, from socket: SocketCore, connection: Int) -> Wait? {
        let parsed = Result { () throws(SubscriptionMessage.Fault) in try SubscriptionMessage(message) }
        var delivery: (feed: SubscriptionFeed, payload: Data)?
        change { state in
            guard state.socket === socket else { return [] }
            let action = state.machine.received(parsed, connection: connection)
            if case .deliver(let id, let payload) = action {
                delivery = state.entries[id].map { ($0.feed, payload) }
            }
            return perform(action, &state)
        }
        return delivery.flatMap { $0.feed.take($0.payload) }
    }

    func disconnected(_ socket: SocketCore) {
        let feeds = state.withLock { $0.socket === socket ? $0.entries.values.map(\.feed) : [] }
        for feed in feeds { feed.stopWaiting() }
    }

    func interrupted(_ socket: SocketCore, by error: PulseError) async {
        change { state in
            state.socket === socket ? perform(state.machine.interrupted(by: error), &state) : []
        }
        // Another task may be publishing: the loss must be published before any state of the next connection.
        while state.withLock({ $0.isPublishing || !$0.pendingStates.isEmpty }) { await Task.yield() }
    }

    func ended(_ socket: SocketCore, by error: PulseError) {
        let feeds = state.withLock { state in state.socket === socket ? drop(&state).feeds : [] }
        for feed in feeds { feed.end(error) }
    }
}

/// The socket of a client's subscriptions at one path.
private struct GraphQLSocket: SocketEndpoint {
    let path: String
    let pingInterval: TimeInterval

    var subprotocols: [String] { [SubscriptionMessage.subprotocol] }

    var socketOptions: SocketOptions {
        var options = SocketOptions(whileDown: .fails)
        // A server that closes normally may be restarting.
        options.fatalCodes.remove(1000)
        options.fatalCodes.formUnion([4004, 4005, 4400, 4401, 4406, 4409, 4429, 4500])
        return options
    }
}

/// The hubs of a client by path, while they are in use.
final class SubscriptionHubs: ClientFeature {
    private struct Entry {
        weak var hub: SubscriptionHub?
    }

    private let hubs = Locked<[String: Entry]>([:])

    func hub(at path: String) -> SubscriptionHub {
        hubs.withLock { hubs in
            if let hub = hubs[path]?.hub { return hub }
            hubs = hubs.filter { $0.value.hub != nil }
            let hub = SubscriptionHub(path: path)
            hubs[path] = Entry(hub: hub)
            return hub
        }
    }
}
