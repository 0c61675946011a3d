// SPDX-License-Identifier: MIT

import PulseCore
import PulseSockets

/// The client's state machine of `graphql-transport-ws`, for the subscriptions over one socket. Performs no I/O.
///
/// A subscription exists from ``add(_:)`` until an action ends it.
struct SubscriptionStateMachine: Sendable {
    enum Action: Sendable {
        case nothing
        /// Open a socket.
        case connect
        /// Subscribe these on the connection. They are active from now on.
        case subscribe([Int], connection: Int)
        /// These are no longer active, until the next ``subscribe(_:connection:)``.
        case interrupt([Int], PulseError)
        case deliver(Int, payload: Data)
        case pong(connection: Int)
        /// Send `complete` on the connection, whose server knows the subscription.
        case complete(Int, connection: Int)
        /// The server has ended a subscription; nil if it completed it.
        case end(Int, PulseError?)
        /// End these, and close the socket with the close frame.
        case fail([Int], PulseError, SocketClose)
    }

    private enum Phase: Sendable {
        /// Without a socket.
        case idle
        case connecting
        /// A handshake is done.
        case connected
        /// `connection_init` is sent.
        case initialized
        case acknowledged(connection: Int)
        /// The client is closing a connection that was not acknowledged.
        case refused
    }

    /// The number of unacknowledged connections in a row after which all subscriptions end.
    static let maxRefusals = 3

    private var phase = Phase.idle
    /// All of them are active while the connection is acknowledged.
    private var subscriptions: Set<Int> = []
    /// The number of connections in a row that the server has not acknowledged.
    private var refusals = 0

    /// Whether there is a socket that no subscription needs.
    var isUnused: Bool {
        if case .idle = phase { false } else { subscriptions.isEmpty }
    }

    mutating func add(_ id: Int) -> Action {
        subscriptions.insert(id)
        switch phase {
        case .idle:
            phase = .connecting
            return .connect
        case .connecting, .connected, .initialized, .refused:
            return .nothing
        case .acknowledged(let connection):
            return .subscribe([id], connection: connection)
        }
    }

    mutating func remove(_ id: Int) -> Action {
        guard subscriptions.remove(id) != nil, case .acknowledged(let connection) = phase else { return .nothing }
        return .complete(id, connection: connection)
    }

    /// A handshake is done.
    mutating func connected() {
        phase = .connected
    }

    /// `connection_init` is about to be sent.
    mutating func initialized() {
        phase = .initialized
    }

    /// The acknowledgement timed out. Returns false if none is awaited any more.
    mutating func refused() -> Bool {
        guard case .initialized = phase else { return false }
        phase = .refused
        return true
    }

    /// A message was received on the connection.
    mutating func received(
        _ message: Result<SubscriptionMessage, SubscriptionMessage.Fault>, connection: Int
    ) -> Action {
        if case .refused = phase { return .nothing }
        switch message {
        case .failure(let fault):
            return violated(fault.reason)
        case .success(.acknowledgement):
            guard case .initialized = phase else { return violated("an unexpected connection_ack") }
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

    /// Ignores messages for a subscription that has ended: the server may not know of the end yet.
    private mutating func received(
        for text: String, _ action: (inout SubscriptionStateMachine, Int) -> Action
    ) -> Action {
        guard case .acknowledged = phase else { return violated("an id before connection_ack") }
        // Compares the text too, because a number has several spellings.
        guard let id = Int(text), String(id) == text, subscriptions.contains(id) else { return .nothing }
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

    /// A connection or a connection attempt has ended, and the socket will try again.
    mutating func interrupted(by error: PulseError) -> Action {
        let ended = phase
        if case .idle = ended { return .nothing }
        phase = .connecting
        switch ended {
        case .connected, .initialized, .refused: refusals += 1
        case .idle, .connecting, .acknowledged: break
        }
        // Without a subscription there is no reason to reconnect.
        if refusals == Self.maxRefusals || subscriptions.isEmpty {
            return .fail(endAll(), error, SocketClose(code: 1000))
        }
        guard case .acknowledged = ended else { return .nothing }
        return .interrupt(subscriptions.sorted(), error)
    }

    /// The socket has ended, or is dropped. Returns the subscriptions that end with it.
    mutating func endAll() -> [Int] {
        defer { self = SubscriptionStateMachine() }
        return subscriptions.sorted()
    }
}
