// SPDX-License-Identifier: MIT

public import PulseCore

/// A WebSocket (RFC 6455) that reconnects, and says what may be lost.
///
/// ```swift
/// let socket = PulseSocket(endpoint: Prices(), client: client) { greeting in
///     try await greeting.send(.text("subscribe"))
/// }
/// try await socket.connect()
/// for await message in socket.messages { … }
/// ```
///
/// Each handshake is a call of its own, with all plugins of the client. After a loss the socket reconnects as its
/// ``SocketOptions/reconnect`` says, until ``close(code:reason:)``, a fatal close code, a status of 400 to 499 but 408,
/// 425 and 429, a failure of trust or pins, ``PulseError/sessionExpired``, or the last attempt. Then it has ended:
/// every use throws ``PulseError/socketClosed(code:reason:)`` or the last error.
///
/// Dropping the socket and its messages, and `cancelAll` and `shutdown` of its client, close it with code 1001. Safe to
/// use from any thread.
public final class PulseSocket: Sendable {
    let handle: SocketHandle

    /// Creates a socket, which does nothing before ``connect()``.
    ///
    /// - Parameter onOpen: runs after each handshake, before any other message is sent: to log in, or to subscribe.
    ///   An error that it throws fails the attempt; ``PulseError/socketClosed(code:reason:)`` closes the connection
    ///   with that code and reason, and a reconnecting socket for good if the code is one of
    ///   ``SocketOptions/Reconnect/fatalCodes``. It may take the idle timeout of a call. It must not capture the
    ///   socket.
    public init(
        endpoint: some SocketEndpoint, client: PulseClient = .default,
        onOpen: (@Sendable (Greeting) async throws -> Void)? = nil
    ) {
        handle = SocketHandle(SocketCore(endpoint, client, onOpen))
    }

    init(_ handle: SocketHandle) {
        self.handle = handle
    }

    /// Opens the socket, or waits until it is open again. Returns at once if it is open.
    ///
    /// Concurrent callers share the attempt. If the first attempt fails, this throws and the socket is idle again.
    /// Throws ``PulseError``. Cancelling the last task that waits for a first attempt cancels that.
    public func connect() async throws {
        try await handle.core.connect()
    }

    /// Sends a message, and returns when the system has taken all bytes.
    ///
    /// Messages leave in the order of the calls; those of more than 64 KiB in fragments. Nothing is sent twice. Without
    /// a connection it waits or throws, as ``SocketOptions/whileDown`` says. A cancelled task takes its message back,
    /// unless that was handed to the system; then the message is finished.
    ///
    /// Throws ``PulseError``: ``PulseError/transport(_:underlying:)`` with `.networkConnectionLost` if the connection
    /// is lost, whose ``PulseError/phase`` says whether a part may have been sent. A message that was sent may still be
    /// lost with the connection: ``ping()`` tells that the server has read it.
    public func send(_ message: SocketMessage) async throws {
        try await handle.core.send(message)
    }

    /// Returns the next message; those that came before a loss or the end are returned too, unless the application has
    /// received none for long: for ``SocketOptions/pongTimeout`` after a loss, and ``SocketOptions/closeTimeout`` after
    /// ``close(code:reason:)``.
    ///
    /// Waits over losses. Throws ``PulseError``: the end of the socket, or ``PulseError/invalidRequest(reason:)`` while
    /// another task receives. Cancelling the task loses no message.
    public func receive() async throws -> SocketMessage {
        try await handle.core.receive()
    }

    /// The messages, until the socket has ended. One task at a time reads.
    public var messages: Messages<SocketMessage> {
        Messages(handle) { .success($0) }
    }

    /// Sends a ping, and returns the seconds until its pong. By then the server has read all messages that were sent
    /// before.
    ///
    /// Receive messages meanwhile: the socket reads nothing while ``SocketOptions/receiveBuffer`` is full. Throws
    /// ``PulseError/transport(_:underlying:)``: with `.timedOut` if it has read nothing for
    /// ``SocketOptions/pongTimeout`` for that reason, and with `.networkConnectionLost` without a connection, or if it
    /// is lost meanwhile.
    public func ping() async throws -> TimeInterval {
        try await handle.core.ping()
    }

    /// Closes the socket, and returns when it has ended.
    ///
    /// Messages that ``send(_:)`` was called for are sent before, as far as ``SocketOptions/sendBuffer`` has room. The
    /// server is given ``SocketOptions/closeTimeout`` seconds to confirm. For a code that may not be sent (RFC 6455,
    /// section 7.4), or a reason of more than 123 bytes, it sends 1000 and emits a ``NetworkEvent/warning(_:)``.
    public func close(code: Int = 1000, reason: String = "") async {
        await handle.core.close(code: code, reason: reason)
    }

    /// The present state.
    public var state: SocketState { handle.core.currentState }

    /// The states: the present one first, then every change, until ``SocketState/closed(_:)``. A reader that does not
    /// keep up loses the oldest.
    public var states: AsyncStream<SocketState> { handle.core.states }

    /// What has passed through the socket since it was created.
    public var statistics: Statistics { handle.core.statistics }
}

/// The application's hold on a socket: when the last one is dropped, the socket goes away.
final class SocketHandle: Sendable {
    let core: SocketCore

    init(_ core: SocketCore) {
        self.core = core
    }

    deinit {
        core.goAway()
    }
}
