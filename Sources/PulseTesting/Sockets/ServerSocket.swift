// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseSockets

/// A server's side of a WebSocket (RFC 6455), in the closures of ``MockServer`` and ``MockTransport``.
///
/// ```swift
/// server.onSocket("/ws/{room}") { socket in
///     while let message = try await socket.receive() { try await socket.send(message) }
/// }
/// ```
///
/// One task receives at a time; any number may send. A socket closes with 1000 when its closure returns, and with 1011
/// when the closure throws. Its ``record`` has what the client has sent, and any protocol violation: a test expects
/// ``Record/violation`` to be nil.
public final class ServerSocket: Sendable {
    /// The handshake, with the values of the route's `{name}` segments.
    public let request: RecordedRequest
    private let wire: any ServerWire
    private let writing = KeyedSemaphore<Int>(limit: 1)
    private let state: Locked<State>
    private let deflater: MessageDeflater?
    private let note: @Sendable (Record) -> Void

    /// - Parameter note: receives the record after each change.
    init(
        _ request: RecordedRequest, _ record: Record, _ deflate: DeflateParameters?, over wire: any ServerWire,
        note: @escaping @Sendable (Record) -> Void
    ) {
        self.request = request
        self.wire = wire
        self.note = note
        state = Locked(State(record, deflate))
        deflater = deflate.map { MessageDeflater($0, of: .server) }
    }

    /// The negotiated subprotocol; nil for none.
    public var subprotocol: String? { record.subprotocol }

    /// The record of what the client has sent so far.
    public var record: Record { state.withLock { $0.record } }

    // MARK: Receiving

    /// The next message; nil once the client has closed the socket.
    ///
    /// While waiting, it replies to pings with pongs, and to a close frame with the same code.
    ///
    /// Throws ``PulseError/transport(_:underlying:)`` if the connection ended without a close frame, and
    /// ``PulseError/cancelled`` if the task is cancelled. A protocol violation throws
    /// ``PulseError/socketClosed(code:reason:)`` and closes the socket with that code. Messages that arrived earlier
    /// are returned first.
    public func receive() async throws -> SocketMessage? {
        do {
            while let arrival = try await next() {
                if let message = arrival.message { return message }
                // If the client has disconnected, the next read reports it.
                if arrival.frame.opcode == .ping { try? await pong(arrival.frame.payload) }
            }
        } catch let error as PulseError {
            if record.violation != nil { try? await closeBack() }
            throw error
        }
        try? await closeBack()
        return nil
    }

    /// The next frame, control frames included; nil after the client's close frame. It sends no reply to any frame.
    /// Throws like ``receive()``, but leaves closing the socket to the end of the closure.
    public func receiveFrame() async throws -> Frame? {
        try await next()?.frame
    }

    private func next() async throws -> Arrival? {
        try state.withLock { state in
            guard !state.isReceiving else { throw PulseError.invalidRequest(reason: "another task receives") }
            state.isReceiving = true
        }
        defer { state.withLock { $0.isReceiving = false } }
        while true {
            let (result, record) = state.withLock { state in (Result { try state.next() }, state.record) }
            if case .success(nil) = result {
                if record.closeReceived != nil { return nil }
            } else {
                note(record)
                return try result.get()
            }
            guard let bytes = try await wire.receive() else {
                throw PulseError(wrapping: TransportFailure(code: .networkConnectionLost, phase: .maybeSent))
            }
            state.withLock { $0.take(bytes) }
        }
    }

    // MARK: Sending

    /// Sends a message. Throws ``PulseError/socketClosed(code:reason:)`` after this side's close frame, and
    /// ``PulseError/transport(_:underlying:)`` if the client has disconnected.
    ///
    /// - Parameters:
    ///   - fragments: the number of frames, at least 1, of about the same size. A frame of a text may end within a
    ///     character.
    ///   - compressed: whether to compress the message, whatever its size, if compression was negotiated.
    public func send(_ message: SocketMessage, fragments: Int = 1, compressed: Bool = true) async throws {
        let (opcode, payload): (Frame.Opcode, Data) =
            switch message {
            case .text(let text): (.text, Data(text.utf8))
            case .binary(let data): (.binary, data)
            }
        try await whileOpen {
            // Compressed in sending order, because a message may refer to the one before it.
            let deflater = compressed ? deflater : nil
            let payload = try deflater?.compress(payload) ?? payload
            let count = max(1, fragments)
            let (size, longer) = payload.count.quotientAndRemainder(dividingBy: count)
            for index in 0..<count {
                let part = payload.dropFirst(size * index + min(index, longer)).prefix(size + (index < longer ? 1 : 0))
                let frame = Frame(
                    index == 0 ? opcode : .continuation, Data(part), isFinal: index == count - 1,
                    reservedBits: index == 0 && deflater != nil ? 4 : 0)
                try await wire.send(frame.bytes)
            }
        }
    }

    /// Sends a ping, with a payload of at most 125 bytes. Throws like ``send(_:fragments:compressed:)``.
    public func ping(_ payload: Data = Data()) async throws {
        try await control(.ping, payload)
    }

    /// Sends a pong, with a payload of at most 125 bytes. Throws like ``send(_:fragments:compressed:)``.
    public func pong(_ payload: Data = Data()) async throws {
        try await control(.pong, payload)
    }

    /// Sends these bytes unchanged, such as an invalid ``Frame`` or a part of one.
    public func sendRaw(_ bytes: Data) async throws {
        try await exclusively { try await wire.send(bytes) }
    }

    /// Sends a close frame, unless this side has sent one. The client's close frame can still be received.
    ///
    /// - Parameter code: 1005 sends a frame without a code. A code that may not be sent, or a reason of more than 123
    ///   bytes, throws ``PulseError/invalidRequest(reason:)``.
    public func close(code: Int = 1000, reason: String = "") async throws {
        guard let payload = SocketClose(code: code, reason: reason).payload else {
            throw PulseError.invalidRequest(reason: "no close frame has the code \(code), or a reason of that length")
        }
        try await exclusively {
            let isFirst = state.withLock { state in
                defer { state.closeSent = state.closeSent ?? Close(code: code, reason: reason) }
                return state.closeSent == nil
            }
            if isFirst { try await wire.send(Frame(.close, payload).bytes) }
        }
    }

    /// Performs a step on the connection, such as ``MockServer/Step/reset``; a ``MockTransport`` performs it without
    /// TLS and a network. After a step that ends the connection, nothing can be sent or received.
    public func run(_ step: MockServer.Step) async throws {
        switch step.action {
        case .bytes, .repeating, .stream, .unencrypted: try await exclusively { try await wire.run(step) }
        case .delay, .stall, .halfClose, .close, .truncate, .reset, .converse: try await wire.run(step)
        }
    }

    private func control(_ opcode: Frame.Opcode, _ payload: Data) async throws {
        guard payload.count <= 125 else {
            throw PulseError.invalidRequest(reason: "the payload of a control frame has at most 125 bytes")
        }
        try await whileOpen { try await wire.send(Frame(opcode, payload).bytes) }
    }

    private func whileOpen(_ send: () async throws -> Void) async throws {
        try await exclusively {
            if let close = state.withLock({ $0.closeSent }) {
                throw PulseError.socketClosed(code: close.code, reason: close.reason)
            }
            try await send()
        }
    }

    private func exclusively(_ body: () async throws -> Void) async throws {
        do {
            try await writing.acquire(0)
            defer { writing.release(0) }
            try await body()
        } catch {
            throw PulseError(wrapping: error)
        }
    }

    // MARK: The closure

    /// Runs the closure, and then the closing handshake. The owner closes the connection afterwards.
    func serve(_ body: @escaping @Sendable (ServerSocket) async throws -> Void) async {
        do {
            try await wire.whilePeerStays { try await body(self) }
            try? await closeBack(Close(code: 1000))
        } catch {
            try? await closeBack(Close(code: 1011, reason: Self.reason(of: error)))
        }
        while (try? await next()) != nil {}
        let record = state.withLock { state in
            state.record.isOpen = false
            return state.record
        }
        note(record)
    }

    /// Closes with the code of a violation, or that of the client's close frame, or else `close`.
    private func closeBack(_ close: Close = Close(code: 1000)) async throws {
        let record = record
        let received = record.closeReceived.map { Close(code: $0.code) }
        let close = record.violation ?? received ?? close
        try await self.close(code: close.code, reason: close.reason)
    }

    /// The error's text, as much as fits in a close frame.
    private static func reason(of error: any Error) -> String {
        var reason = "the closure threw: \(error)"
        while reason.utf8.count > 123 { reason.removeLast() }
        return reason
    }
}
