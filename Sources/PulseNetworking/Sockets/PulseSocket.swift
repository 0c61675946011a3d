// SPDX-License-Identifier: MIT

public import PulseCalls
public import PulseCore

/// A WebSocket (RFC 6455) that reconnects and reports how many messages may be lost.
///
/// ```swift
/// let socket = PulseSocket(endpoint: Prices(), client: client) { greeting in
///     try await greeting.send(.text("subscribe"))
/// }
/// try await socket.connect()
/// for await message in socket.messages { … }
/// ```
///
/// Each handshake is a separate call that passes through all plugins of the client. After a loss the socket reconnects
/// as ``SocketOptions/reconnect`` specifies. It ends with ``close(code:reason:)``, a fatal close code, the last
/// attempt, or a handshake that would fail again: with a status of 400 to 499 (except 408, 425 and 429), an untrusted
/// certificate, a pinning failure, ``PulseError/sessionExpired``, or a request that is invalid or unsupported. From
/// then on every use throws ``PulseError/socketClosed(code:reason:)`` or the last error.
///
/// Releasing the socket and its messages, or calling `cancelAll` or `shutdown` of its client, closes it with code 1001.
/// Safe to use from any thread.
public final class PulseSocket: Sendable {
    let handle: SocketHandle

    /// Creates a socket, which does nothing before ``connect()``.
    ///
    /// - Parameter onOpen: runs after each handshake, before any other message is sent, for example to log in or to
    ///   subscribe. An error that it throws fails the attempt. ``PulseError/socketClosed(code:reason:)`` closes the
    ///   connection with that code and reason; if the code is in ``SocketOptions/fatalCodes``, a reconnecting
    ///   socket ends. Its time limit is the idle timeout of a call. It must not capture the socket, which would never
    ///   be released.
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
    /// Throws ``PulseError``. Cancelling the last task that waits for a first attempt cancels the attempt.
    public func connect() async throws {
        try await handle.core.connect()
    }

    /// Sends a message; returns once all its bytes are handed to the system.
    ///
    /// Messages are sent in call order, in fragments if larger than 64 KiB, and never twice. Without a connection the
    /// call waits or throws, as ``SocketOptions/whileDown`` specifies. Cancelling the task withdraws the message,
    /// unless it is already being written; then it is sent in full.
    ///
    /// Throws ``PulseError``: ``PulseError/transport(_:underlying:)`` with `.networkConnectionLost` if the connection
    /// is lost; its ``PulseError/phase`` says whether part of the message may have been sent. A sent message may still
    /// be lost with the connection: ``ping()`` proves that the server has read it.
    public func send(_ message: SocketMessage) async throws {
        try await handle.core.send(message)
    }

    /// Returns the next message, including those received before a loss or the end.
    ///
    /// Messages that found ``SocketOptions/receiveBuffer`` full are dropped if the application then receives none: for
    /// ``SocketOptions/pongTimeout`` after a loss, and for ``SocketOptions/closeTimeout`` after
    /// ``close(code:reason:)``.
    ///
    /// Keeps waiting while the socket reconnects. Throws ``PulseError``: the end of the socket, or
    /// ``PulseError/invalidRequest(reason:)`` while another task receives. Cancelling the task loses no message.
    public func receive() async throws -> SocketMessage {
        try await handle.core.receive()
    }

    /// The received messages, until the socket has ended. Only one task may iterate at a time.
    public var messages: Messages<SocketMessage> {
        Messages(handle) { .success($0) }
    }

    /// Sends a ping and returns its round-trip time in seconds. By then the server has read all messages sent before.
    ///
    /// Receive messages meanwhile: the socket stops reading while ``SocketOptions/receiveBuffer`` is full. Throws
    /// ``PulseError/transport(_:underlying:)``: with `.timedOut` if it has stopped for ``SocketOptions/pongTimeout``,
    /// and with `.networkConnectionLost` if there is no connection or it is lost meanwhile.
    public func ping() async throws -> TimeInterval {
        try await handle.core.ping()
    }

    /// Closes the socket and returns once it has ended.
    ///
    /// Pending messages are sent first, up to ``SocketOptions/sendBuffer`` bytes. The server has
    /// ``SocketOptions/closeTimeout`` seconds to confirm. A code that must not be sent (RFC 6455, section 7.4), or a
    /// reason of more than 123 bytes, is replaced by code 1000 with a ``NetworkEvent/warning(_:)``.
    public func close(code: Int = 1000, reason: String = "") async {
        await handle.core.close(code: code, reason: reason)
    }

    /// The current state.
    public var state: SocketState { handle.core.currentState }

    /// The current state first, then every change, until ``SocketState/closed(_:)``. A slow reader misses the oldest.
    public var states: AsyncStream<SocketState> { handle.core.states }

    /// Traffic counters since the socket was created.
    public var statistics: Statistics { handle.core.statistics }
}

/// The application's reference to a socket: releasing the last one closes the socket with code 1001 (going away).
final class SocketHandle: Sendable {
    let core: SocketCore

    init(_ core: SocketCore) {
        self.core = core
    }

    deinit {
        core.goAway()
    }
}
