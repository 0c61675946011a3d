// SPDX-License-Identifier: MIT

public import PulseCalls
public import PulseCore

/// A ``PulseSocket`` that decodes received messages and encodes sent values, with the coders of the endpoint's options
/// or else of the client.
///
/// ```swift
/// let prices = TypedSocket<Price>(endpoint: Prices(), client: client)
/// try await prices.connect()
/// for await price in prices.messages { … }
/// ```
public final class TypedSocket<Message: Decodable & Sendable>: Sendable {
    private let handle: SocketHandle
    private let socket: PulseSocket
    private let decoder: any ResponseDecoder
    private let log: @Sendable (String) -> Void
    private let hasLogged = Locked(false)

    /// Creates a socket, as ``PulseSocket/init(endpoint:client:onOpen:)`` does.
    public convenience init(
        endpoint: some SocketEndpoint, client: PulseClient = .default,
        onOpen: (@Sendable (PulseSocket.Greeting) async throws -> Void)? = nil
    ) {
        self.init(endpoint: endpoint, client: client, onOpen: onOpen) { LevelLogger.systemLog($0, .warning) }
    }

    /// - Parameter log: writes a line to the log, whatever its level.
    init(
        endpoint: some SocketEndpoint, client: PulseClient,
        onOpen: (@Sendable (PulseSocket.Greeting) async throws -> Void)?, log: @escaping @Sendable (String) -> Void
    ) {
        self.log = log
        handle = SocketHandle(SocketCore(endpoint, client, onOpen))
        socket = PulseSocket(handle)
        let options = endpoint.options
        decoder = options.decoder ?? client.configuration.decoder
    }

    /// Opens the socket, as ``PulseSocket/connect()`` does.
    public func connect() async throws { try await socket.connect() }

    /// Sends a value, as ``PulseSocket/send(_:)`` does, in a message of the type set by ``SocketOptions/encoding``.
    ///
    /// Throws ``PulseError/encodingFailed(underlying:)`` for a value that does not encode, or a text that is not UTF-8.
    public func send(_ value: some Encodable & Sendable) async throws {
        try await socket.send(handle.core.message(of: value))
    }

    /// Returns the next value, as ``PulseSocket/receive()`` does. A message that does not decode is skipped, or ends
    /// the socket with ``PulseError/decodingFailed(type:underlying:)``, as ``SocketOptions/badMessage`` says.
    public func receive() async throws -> Message {
        while true {
            let message = try await socket.receive()
            if let value = try decode(message).get() { return value }
        }
    }

    /// The received values, until the socket has ended. Only one task may iterate at a time.
    public var messages: PulseSocket.Messages<Message> {
        PulseSocket.Messages(handle) { [self] in decode($0) }
    }

    /// Sends a ping, as ``PulseSocket/ping()`` does.
    public func ping() async throws -> TimeInterval { try await socket.ping() }

    /// Closes the socket, as ``PulseSocket/close(code:reason:)`` does.
    public func close(code: Int = 1000, reason: String = "") async {
        await socket.close(code: code, reason: reason)
    }

    /// The current state.
    public var state: SocketState { socket.state }

    /// The states, as ``PulseSocket/states``.
    public var states: AsyncStream<SocketState> { socket.states }

    /// Traffic counters since the socket was created.
    public var statistics: PulseSocket.Statistics { socket.statistics }

    /// Decodes a message; nil if it is skipped.
    private func decode(_ message: SocketMessage) -> Result<Message?, PulseError> {
        do {
            return .success(try decoder.decode(Message.self, from: message.bytes))
        } catch {
            let error = handle.core.failure(error, decoding: Message.self, message, by: decoder)
            guard handle.core.options.badMessage == .fails else {
                skip(error)
                return .success(nil)
            }
            handle.core.beginClose(SocketClose(code: 1007), because: error)
            return .failure(error)
        }
    }

    /// Emits a warning. At log levels without warnings only the first is logged, since a peer may send them without
    /// end.
    private func skip(_ error: PulseError) {
        let core = handle.core
        let text = "a message of the socket \(core.shownPath) was skipped: \(error.summary)"
        core.warn(text)
        let isFirst = hasLogged.withLock { hasLogged in
            defer { hasLogged = true }
            return !hasLogged
        }
        if isFirst, core.client.configuration.logLevel < .warning { log(Redaction.standard.text(text).onOneLine) }
    }
}
