// SPDX-License-Identifier: MIT

import PulseCore

/// Decides what the subscriptions over one socket do, as a client of `graphql-transport-ws`. Without input of its own.
///
/// A subscription exists from ``add(_:)`` until an action ends it.
struct SubscriptionMachine: Sendable {
    enum Action: Sendable {
        case nothing
        /// Open a socket.
        case connect
        /// These are active from now on, on that connection.
        case subscribe([Int], connection: Int)
        /// These are no longer active, until the next ``subscribe(_:connection:)``.
        case interrupt([Int], PulseError)
        case deliver(Int, payload: Data)
        case pong(connection: Int)
        /// Tell the server on that connection, which knows of the subscription; nil if it does not.
        case complete(Int, connection: Int?)
        /// The server has ended a subscription; nil for a good end.
        case end(Int, PulseError?)
        /// End these, and the socket with the close frame.
        case fail([Int], PulseError, SocketClose)
    }

    private enum Phase: Sendable {
        /// Without a socket.
        case idle
        case connecting
        /// The server has not acknowledged the connection.
        case greeting
        case acknowledged(connection: Int)
    }

    /// That many connections in a row without an acknowledgement end all.
    static let maximumRefusals = 3

    private var phase = Phase.idle
    /// All of them are active while the connection is acknowledged.
    private var subscriptions: Set<Int> = []
    /// The connections in a row that the server has not acknowledged.
    private var refusals = 0

    /// Whether there is a socket that no subscription needs.
    var isUnused: Bool {
        if case .idle = phase { false } else { subscriptions.isEmpty }
    }

    // MARK: The application

    mutating func add(_ id: Int) -> Action {
        subscriptions.insert(id)
        switch phase {
        case .idle:
            phase = .connecting
            return .connect
        case .connecting, .greeting:
            return .nothing
        case .acknowledged(let connection):
            return .subscribe([id], connection: connection)
        }
    }

    mutating func remove(_ id: Int) -> Action {
        guard subscriptions.remove(id) != nil else { return .nothing }
        if case .acknowledged(let connection) = phase { return .complete(id, connection: connection) }
        return .complete(id, connection: nil)
    }

    // MARK: The socket

    /// A handshake is done.
    mutating func connected() {
        phase = .greeting
    }

    /// A message has come on that connection.
    mutating func received(
        _ message: Result<SubscriptionMessage, SubscriptionMessage.Fault>, connection: Int
    ) -> Action {
        switch message {
        case .failure(let fault):
            return violated(fault.reason)
        case .success(.acknowledgement):
            guard case .greeting = phase else { return violated("an unexpected connection_ack") }
            phase = .acknowledged(connection: connection)
            refusals = 0
            return .subscribe(subscriptions.sorted(), connection: connection)
        case .success(.ping):
            return .pong(connection: connection)
        case .success(.pong):
            return .nothing
        case .success(.next(let id, let payload)):
            return received(for: id) { .deliver($1, payload: payload) }
        case .success(.error(let id, let errors)):
            return received(for: id) { $0.ended($1, .graphQL(errors)) }
        case .success(.complete(let id)):
            return received(for: id) { $0.ended($1, nil) }
        }
    }

    /// What comes for a subscription that has ended is passed over: the server may not know yet.
    private mutating func received(
        for text: String, _ action: (inout SubscriptionMachine, Int) -> Action
    ) -> Action {
        guard case .acknowledged = phase else { return violated("an id before connection_ack") }
        guard let id = Int(text), subscriptions.contains(id) else { return .nothing }
        return action(&self, id)
    }

    private mutating func ended(_ id: Int, _ error: PulseError?) -> Action {
        subscriptions.remove(id)
        return .end(id, error)
    }

    private mutating func violated(_ reason: String) -> Action {
        let close = SocketClose(code: 4400, reason: "no message of \(SubscriptionMessage.subprotocol): \(reason)")
        return .fail(endAll(), .socketClosed(code: close.code, reason: close.reason), close)
    }

    /// A connection or an attempt to connect has ended, and the socket makes another attempt.
    mutating func interrupted(by error: PulseError) -> Action {
        switch phase {
        case .idle, .connecting:
            return .nothing
        case .greeting:
            phase = .connecting
            refusals += 1
            guard refusals == Self.maximumRefusals else { return .nothing }
            return .fail(endAll(), error, SocketClose(code: 1000))
        case .acknowledged:
            phase = .connecting
            return .interrupt(subscriptions.sorted(), error)
        }
    }

    /// The socket has ended, or is left. Returns the subscriptions that end with it.
    mutating func endAll() -> [Int] {
        defer { self = SubscriptionMachine() }
        return subscriptions.sorted()
    }
}
