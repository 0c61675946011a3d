// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

/// One connection of a client to an ``HTTP2Front``.
///
/// The task of ``run()`` reads, a second one writes, and each stream has two for its connection to the server. Bytes of
/// a client that did not negotiate HTTP/2 pass through unchanged.
final class HTTP2FrontConnection: Sendable {
    private struct Served {
        let stream: HTTP2FrontStream
        let task: Task<Void, Never>
    }

    private struct State {
        let session: HTTP2FrontSession
        var streams: [Int32: Served] = [:]
        var lastStream: Int32 = 0
        /// Streams whose end was handled before their beginning, by another task.
        var endedEarly: Set<Int32> = []
        var flushes: [CheckedContinuation<Void, Never>] = []
        var speaksHTTP2 = false
        /// Whether taken bytes are not sent yet.
        var isWriting = false
        var isOpen = true
    }

    private static let pieceSize = 64 << 10

    private let socket: SocketStream
    private let connect: @Sendable () throws -> SocketStream
    private let state: Locked<State>
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// - Parameter connect: opens a connection to the server.
    init(_ socket: SocketStream, to connect: @escaping @Sendable () throws -> SocketStream) throws {
        self.socket = socket
        self.connect = connect
        state = try Locked(State(session: HTTP2FrontSession()))
        (wakes, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func run() async {
        socket.open()
        if let first = try? await socket.receive() {
            if socket.hasProtocol { await serve(first) } else { await relay(first) }
        }
        close()
        await socket.disposal()
    }

    /// Closes the connection and those of its streams, after a GOAWAY if nothing else is being sent.
    func stop() {
        let farewell = state.withLock { state -> Data? in
            guard state.isOpen, state.speaksHTTP2, !state.isWriting else { return nil }
            state.session.goAway()
            return state.session.take(atMost: Self.pieceSize)
        }
        if let farewell { socket.sendAtOnce(farewell) }
        close()
    }

    private func close() {
        let (streams, flushes) = state.withLock { state in
            state.isOpen = false
            defer { state.flushes = [] }
            return (state.streams.values.map(\.stream), state.flushes)
        }
        socket.close()
        wake.finish()
        streams.forEach { $0.abort() }
        flushes.forEach { $0.resume() }
    }

    // MARK: HTTP/2

    private func serve(_ first: Data) async {
        state.withLock { $0.speaksHTTP2 = true }
        let writing = Task { await write() }
        var next: Data? = first
        while let bytes = next, perform({ $0.feed(bytes) }) {
            wake.yield()
            next = try? await socket.receive()
        }
        close()
        await writing.value
        for task in state.withLock({ $0.streams.values.map(\.task) }) { await task.value }
    }

    private func write() async {
        while true {
            let (bytes, events, flushes, isOver) = state.withLock { state in
                let bytes = state.session.take(atMost: Self.pieceSize)
                state.isWriting = !bytes.isEmpty
                let flushes = bytes.isEmpty ? state.flushes : []
                if bytes.isEmpty { state.flushes = [] }
                return (bytes, state.session.takeEvents(), flushes, bytes.isEmpty && state.session.isOver)
            }
            events.forEach(handle)
            flushes.forEach { $0.resume() }
            if isOver {
                try? await socket.sendClosureAlert()
                return close()
            }
            if bytes.isEmpty {
                guard await isWoken() else { return }
            } else if (try? await socket.send(bytes)) == nil {
                return close()
            }
        }
    }

    /// Waits for a wakeup; false at the end of the connection.
    private func isWoken() async -> Bool {
        for await _ in wakes { return true }
        return false
    }

    private func perform<Value>(_ body: (HTTP2FrontSession) -> Value) -> Value {
        let (value, events) = state.withLock { state in (body(state.session), state.session.takeEvents()) }
        events.forEach(handle)
        return value
    }

    private func handle(_ event: HTTP2FrontSession.Event) {
        switch event {
        case .request(let id, let fields, let isEnd): begin(id, BackendRequest(fields, isEnd: isEnd))
        case .body(let id, let bytes): stream(id)?.receive(bytes)
        case .end(let id, let trailers): stream(id)?.complete(trailers)
        case .room(let id): stream(id)?.makeRoom()
        case .closed(let id):
            let stream = state.withLock { state in
                if id > state.lastStream { state.endedEarly.insert(id) }
                return state.streams[id]?.stream
            }
            stream?.leave()
        }
    }

    private func begin(_ id: Int32, _ request: BackendRequest) {
        let backend = try? connect()
        let isBegun = state.withLock { state in
            state.lastStream = max(state.lastStream, id)
            let hasEnded = state.endedEarly.remove(id) != nil
            guard let backend, state.isOpen, !hasEnded else { return false }
            let stream = HTTP2FrontStream(id, request, to: backend, over: self)
            let task = Task {
                await stream.run()
                self.ended(id)
            }
            state.streams[id] = Served(stream: stream, task: task)
            return true
        }
        guard !isBegun else { return }
        backend?.close()
        cut(id)
    }

    private func ended(_ id: Int32) {
        state.withLock { state in
            state.streams[id] = nil
        }
    }

    private func stream(_ id: Int32) -> HTTP2FrontStream? {
        state.withLock { $0.streams[id]?.stream }
    }

    // MARK: Called by streams

    func inform(_ id: Int32, _ fields: [HTTP2FrontField]) {
        perform { $0.inform(id, fields) }
        wake.yield()
    }

    func respond(_ id: Int32, _ fields: [HTTP2FrontField], hasBody: Bool) {
        perform { $0.respond(id, fields, hasBody: hasBody) }
        wake.yield()
    }

    /// Appends to a response's body; returns whether there is room for more.
    func append(_ bytes: Data, to id: Int32) -> Bool {
        defer { wake.yield() }
        return perform { session in
            session.append(bytes, to: id)
            return session.hasRoom(id)
        }
    }

    func hasRoom(_ id: Int32) -> Bool {
        let (isOpen, hasRoom) = state.withLock { ($0.isOpen, $0.session.hasRoom(id)) }
        return !isOpen || hasRoom
    }

    func end(_ id: Int32, trailers: [HTTP2FrontField]) {
        perform { $0.end(id, trailers: trailers) }
        wake.yield()
    }

    func cut(_ id: Int32) {
        perform { $0.cut(id) }
        wake.yield()
    }

    func consume(_ count: Int, of id: Int32) {
        perform { $0.consume(count, of: id) }
        wake.yield()
    }

    /// Returns when everything that can be sent now was handed to the system.
    func flush() async {
        await withCheckedContinuation { continuation in
            let waits = state.withLock { state in
                guard state.isOpen else { return false }
                state.flushes.append(continuation)
                return true
            }
            if waits { wake.yield() } else { continuation.resume() }
        }
    }

    // MARK: Other protocols

    private func relay(_ first: Data) async {
        guard let backend = try? connect() else { return }
        backend.open()
        let back = Task { [socket] in
            while let bytes = try? await backend.receive() {
                guard (try? await socket.send(bytes)) != nil else { return }
            }
            try? await socket.sendClosureAlert()
            socket.endSending()
        }
        var next: Data? = first
        while let bytes = next, (try? await backend.send(bytes)) != nil { next = try? await socket.receive() }
        backend.close()
        // A client that has disconnected reads nothing.
        socket.close()
        await back.value
        await backend.disposal()
    }
}
#endif
