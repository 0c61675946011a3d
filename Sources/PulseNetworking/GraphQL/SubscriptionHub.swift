// SPDX-License-Identifier: MIT

import PulseCore

/// The subscriptions of a client at one path, which share a socket. The first one opens it.
final class SubscriptionHub: Sendable {
    private struct Entry {
        let feed: SubscriptionFeed
        /// What subscribes it.
        let message: SocketMessage
    }

    private struct State {
        var machine = SubscriptionMachine()
        var entries: [Int: Entry] = [:]
        var socket: SocketCore?
        /// Ends the greeting of the socket.
        var acknowledgement: SocketReply<Result<Void, PulseError>>?
        /// Closes the socket, which is unused.
        var alarm: DeadlineHeap.Alarm?
        var isUnused = false
        /// Tells the times apart in which the socket is unused.
        var unusedCount = 0
        var lastID = 0
    }

    /// What follows from a change of the state, outside of the lock.
    private typealias Effects = [@Sendable () -> Void]

    private let path: String
    private let state = Locked(State())

    init(path: String) {
        self.path = path
    }

    /// The subscriptions that have not ended.
    var count: Int { state.withLock { $0.entries.count } }

    func newID() -> Int {
        state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
    }

    // MARK: The application

    /// - Parameter message: what subscribes it.
    func add(_ feed: SubscriptionFeed, _ message: SocketMessage) {
        let effects = state.withLock { state -> Effects in
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
        for effect in effects { effect() }
    }

    func remove(_ feed: SubscriptionFeed) {
        let effects = state.withLock { state in
            state.entries[feed.id] = nil
            return perform(state.machine.remove(feed.id), &state)
        }
        for effect in effects { effect() }
    }

    private func makeSocket(_ client: PulseClient) -> SocketCore {
        let settings = client.configuration.graphQL
        return SocketCore(
            GraphQLSocket(path: path, pingInterval: settings.pingInterval), client,
            { [self] in try await greet($0, settings) }, receiver: self)
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

    /// Closes the socket once it was unused for long enough.
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

    /// Leaves the socket. Returns it with the subscriptions that end with it.
    private func drop(_ state: inout State) -> (socket: SocketCore?, feeds: [SubscriptionFeed]) {
        defer { (state.socket, state.acknowledgement, state.alarm, state.isUnused) = (nil, nil, nil, false) }
        let feeds = state.machine.endAll().compactMap { state.entries.removeValue(forKey: $0)?.feed }
        return (state.socket, feeds)
    }

    // MARK: The greeting

    /// Opens the protocol on a new connection.
    private func greet(_ greeting: SocketGreeting, _ settings: GraphQLSettings) async throws {
        guard greeting.response.headers["Sec-WebSocket-Protocol"] == SubscriptionMessage.subprotocol else {
            throw PulseError.unsupported("GraphQL: the server has no \(SubscriptionMessage.subprotocol)")
        }
        let reply = SocketReply<Result<Void, PulseError>>()
        state.withLock { state in
            guard state.socket === greeting.core else { return }
            state.machine.connected()
            state.acknowledgement = reply
        }
        try await greeting.send(.initialization(settings.connectionPayload?()))
        let client = greeting.core.client
        let alarm = client.deadlines.add(client.environment.clock.uptime + settings.acknowledgeTimeout) {
            reply.give(.failure(.socketClosed(code: 4504, reason: "no connection_ack in time")))
        }
        defer { client.deadlines.remove(alarm) }
        try await reply.value { reply.give(.failure(.cancelled)) }.get()
    }

    // MARK: Actions

    private func perform(_ action: SubscriptionMachine.Action, _ state: inout State) -> Effects {
        var effects: Effects = []
        func send(_ message: SocketMessage, _ connection: Int, limit: Int = .max) {
            guard let socket = state.socket,
                let writer = socket.enqueue(message, on: connection, limit: limit)
            else { return }
            effects.append { socket.write(insteadOf: writer) }
        }
        switch action {
        case .nothing, .connect, .deliver:
            break
        case .subscribe(let ids, let connection):
            if let reply = state.acknowledgement.take() { effects.append { reply.give(.success(())) } }
            for entry in ids.compactMap({ state.entries[$0] }) {
                send(entry.message, connection)
                // In the order of the actions. A broadcast runs no foreign code.
                entry.feed.note(.active)
            }
        case .interrupt(let ids, let error):
            for id in ids { state.entries[id]?.feed.note(.interrupted(error)) }
        case .pong(let connection):
            send(.pong, connection, limit: Self.maximumWaiting)
        case .complete(let id, let connection):
            if let connection { send(.complete(id: id), connection) }
        case .end(let id, let error):
            if let feed = state.entries.removeValue(forKey: id)?.feed { effects.append { feed.end(error) } }
        case .fail(let ids, let error, let close):
            for id in ids {
                if let feed = state.entries.removeValue(forKey: id)?.feed { effects.append { feed.end(error) } }
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

    /// The messages with which a peer that pings and does not read can fill the queue.
    private static let maximumWaiting = 64
}

extension SubscriptionHub: SocketReceiver {
    func receive(
        _ message: SocketMessage, from socket: SocketCore, connection: Int
    ) -> (@Sendable () async -> Void)? {
        let parsed = Result { () throws(SubscriptionMessage.Fault) in try SubscriptionMessage(message) }
        let (effects, delivery) = state.withLock { state -> (Effects, (SubscriptionFeed, Data)?) in
            guard state.socket === socket else { return ([], nil) }
            let action = state.machine.received(parsed, connection: connection)
            if case .deliver(let id, let payload) = action {
                return ([], state.entries[id].map { ($0.feed, payload) })
            }
            return (perform(action, &state), nil)
        }
        for effect in effects { effect() }
        return delivery.flatMap { feed, payload in feed.take(payload) }
    }

    func interrupted(_ socket: SocketCore, by error: PulseError) {
        let effects = state.withLock { state in
            state.socket === socket ? perform(state.machine.interrupted(by: error), &state) : []
        }
        for effect in effects { effect() }
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
        var reconnect = SocketReconnect()
        // A server that closes well may be restarting.
        reconnect.fatalCodes.remove(1000)
        reconnect.fatalCodes.formUnion([4004, 4005, 4400, 4401, 4406, 4409, 4429, 4500])
        return SocketOptions(reconnect: reconnect, whileDown: .fails)
    }
}

/// The hubs of a client.
final class SubscriptionHubs: Sendable {
    private let hubs = Locked<[String: SubscriptionHub]>([:])

    func hub(at path: String) -> SubscriptionHub {
        hubs.withLock { hubs in
            if let hub = hubs[path] { return hub }
            let hub = SubscriptionHub(path: path)
            hubs[path] = hub
            return hub
        }
    }
}
