// SPDX-License-Identifier: MIT

import PulseCore

/// The connection under a ``ServerSocket``: one of a ``MockServer``, or one in memory.
protocol ServerWire: Sendable {
    /// The next bytes; nil once the client has ended its side. Throws ``PulseError`` if the connection broke or was
    /// closed. A cancelled task gets the bytes that have arrived, without waiting.
    func receive() async throws -> Data?
    /// Returns when the client's side, or the system, has accepted all bytes. Throws ``PulseError``.
    func send(_ bytes: Data) async throws
    /// Performs a step. The connection is closed after a step that ends it. Throws ``PulseError``.
    func run(_ step: MockServer.Step) async throws
    /// Runs `body` in a task that is cancelled when the client disconnects.
    func whilePeerStays(_ body: @escaping @Sendable () async throws -> Void) async throws
}

/// The server's end of an in-memory connection. Its task is cancelled when the client disconnects.
struct MemoryWire: ServerWire {
    let connection: MemoryConnection
    let clock: any PulseClock

    func receive() async throws -> Data? {
        try await typed { try await connection.readArrived() }
    }

    func send(_ bytes: Data) async throws {
        do {
            try await connection.writeWhole(bytes)
        } catch {
            throw error is CancellationError ? Self.closed : PulseError(wrapping: error)
        }
    }

    func run(_ step: MockServer.Step) async throws {
        switch step.action {
        case .bytes(let bytes), .unencrypted(let bytes):
            try await send(bytes)
        case .repeating(let bytes, let times):
            var count = 0
            while !bytes.isEmpty, times.map({ count < $0 }) ?? true {
                try await send(bytes)
                count += 1
            }
        case .stream(let stream, _):
            for await bytes in stream { try await send(bytes) }
        case .delay(let seconds):
            try await typed { try await clock.sleep(seconds, for: .delay) }
        case .stall:
            try await discardInput()
        case .halfClose:
            connection.finishWriting()
            try await discardInput()
        case .close, .truncate:
            connection.close()
        case .reset:
            connection.reset()
        case .converse:
            throw PulseError.unsupported("a connection in memory has no conversation")
        }
    }

    func whilePeerStays(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await body()
    }

    /// Discards input until the client disconnects.
    private func discardInput() async throws {
        defer { connection.close() }
        while try await receive() != nil {}
    }

    private func typed<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            throw error is CancellationError && !Task.isCancelled ? Self.closed : PulseError(wrapping: error)
        }
    }

    /// The error of calls after this side was closed.
    private static var closed: PulseError {
        PulseError(wrapping: TransportFailure(code: .networkConnectionLost, phase: .maybeSent))
    }
}
