// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

/// One HTTP/2 request, and its HTTP/1.1 connection to the server.
final class HTTP2FrontStream: Sendable {
    private struct State {
        /// Whether the client has sent its whole request, and whether the server has received it.
        var isComplete = false
        var isUploaded = false
        /// Whether the whole response has arrived.
        var isAnswered = false
        var trailers: [HTTP2FrontField] = []
    }

    private let id: Int32
    private let request: BackendRequest
    private let backend: SocketStream
    private let connection: HTTP2FrontConnection
    private let state = Locked(State())
    private let body: AsyncStream<Data>
    private let bodyInput: AsyncStream<Data>.Continuation
    private let room: AsyncStream<Void>
    private let roomInput: AsyncStream<Void>.Continuation

    init(_ id: Int32, _ request: BackendRequest, to backend: SocketStream, over connection: HTTP2FrontConnection) {
        self.id = id
        self.request = request
        self.backend = backend
        self.connection = connection
        // The stream's flow-control window bounds it.
        (body, bodyInput) = AsyncStream<Data>.makeStream()
        (room, roomInput) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func run() async {
        backend.open()
        let upload = Task { await self.upload() }
        await download()
        await upload.value
        backend.close()
        await backend.disposal()
    }

    // MARK: Called by the connection

    func receive(_ bytes: Data) {
        bodyInput.yield(bytes)
    }

    /// The client has sent the whole request.
    func complete(_ trailers: [HTTP2FrontField]) {
        state.withLock { state in
            state.isComplete = true
            state.trailers = trailers
        }
        bodyInput.finish()
    }

    /// The body of the response has room again.
    func makeRoom() {
        roomInput.yield()
    }

    /// The stream is over. A server that has responded to the whole request closes its connection itself.
    func leave() {
        let isDone = state.withLock { $0.isComplete && $0.isAnswered }
        if isDone { bodyInput.finish() } else { abort() }
        roomInput.yield()
    }

    /// Closes the connection to the server.
    func abort() {
        // First: the end of the body would look like a complete request.
        backend.close()
        bodyInput.finish()
        roomInput.finish()
    }

    // MARK: Both directions

    private func upload() async {
        do {
            try await backend.send(request.head)
            // The last byte of a body with a length is held back until the client has ended it.
            var held = Data()
            for await piece in body {
                if request.isChunked {
                    try await backend.send(Self.chunk(piece))
                } else {
                    held.append(piece)
                    try await backend.send(Data(held.dropLast()))
                    held = Data(held.suffix(1))
                }
                connection.consume(piece.count, of: id)
            }
            try await backend.send(request.isChunked ? lastChunk : held)
            state.withLock { $0.isUploaded = true }
        } catch {
            // The client learns it from the server's response or the end of its connection.
        }
    }

    private static func chunk(_ bytes: Data) -> Data {
        guard !bytes.isEmpty else { return Data() }
        return Data("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Data("\r\n".utf8)
    }

    private var lastChunk: Data {
        var bytes = Data("0\r\n".utf8)
        for field in state.withLock({ $0.trailers }) { bytes.append(field.line) }
        return bytes + Data("\r\n".utf8)
    }

    private func download() async {
        var response = BackendResponse(toHEAD: request.isHEAD)
        do {
            while true {
                while let part = response.next() {
                    if try await pass(part) { return await awaitEnd() }
                }
                if let bytes = try await received() { response.append(bytes) } else { response.finish() }
            }
        } catch {
            connection.cut(id)
            backend.close()
        }
    }

    private struct Malformed: Error {}

    /// Returns whether the response is complete.
    private func pass(_ part: BackendResponse.Part) async throws -> Bool {
        switch part {
        case .interim(let fields):
            connection.inform(id, fields)
            await connection.flush()
        case .head(let fields, let hasBody):
            if !hasBody { markAnswered() }
            connection.respond(id, fields, hasBody: hasBody)
        case .body(let bytes):
            var hasRoom = connection.append(bytes, to: id)
            while !hasRoom {
                for await _ in room { break }
                hasRoom = connection.hasRoom(id)
            }
        case .end(let trailers):
            markAnswered()
            connection.end(id, trailers: trailers)
            return true
        case .malformed:
            throw Malformed()
        }
        return false
    }

    /// Called before the client sees the end, because it may disconnect then.
    private func markAnswered() {
        state.withLock { $0.isAnswered = true }
    }

    /// Waits for the server to close the connection, or closes it if the upload is incomplete.
    private func awaitEnd() async {
        guard state.withLock({ $0.isUploaded }) else { return backend.close() }
        while (try? await backend.receive()) != nil {}
    }

    private func received() async throws -> Data? {
        do {
            return try await backend.receive()
        } catch {
            // A failed upload ends reading too, although the response may have arrived.
            guard let bytes = backend.leftover() else { throw error }
            return bytes
        }
    }
}
#endif
