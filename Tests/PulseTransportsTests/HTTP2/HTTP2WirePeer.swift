// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import Testing

import PulseTransports

/// A server over TLS that writes its HTTP/2 frames by hand, and counts the requests that reach it.
final class HTTP2WirePeer: Sendable {
    /// A request whose header fields have arrived.
    struct Arrival: Sendable, Equatable {
        let connection: Int
        /// Nil over HTTP/1.1.
        let stream: Int32?
    }

    /// A RST_STREAM of the client.
    struct Reset: Sendable, Equatable {
        let connection: Int
        let stream: Int32
        let code: Int
    }

    /// When a request gets its response.
    enum Moment {
        case atItsHead, atItsEnd
    }

    typealias Responder = @Sendable (HTTP2WireStream) async throws -> Void

    private struct State {
        var arrivals: [Arrival] = []
        var resets: [Reset] = []
        var watchers: [AsyncStream<Void>.Continuation] = []
    }

    private static let preface = Data("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    let baseURL: URL
    let tls: TLSSettings
    private let settings: [UInt16: UInt32]
    private let moment: Moment
    private let respond: Responder
    private let state = Locked(State())

    private init(
        _ baseURL: URL, _ tls: TLSSettings, _ settings: [UInt16: UInt32], _ moment: Moment,
        _ respond: @escaping Responder
    ) {
        (self.baseURL, self.tls, self.settings, self.moment) = (baseURL, tls, settings, moment)
        self.respond = respond
    }

    /// Runs `body` with a peer and a transport, and ends both.
    ///
    /// - Parameter respond: acts on each request. Its connection reads no other frame meanwhile.
    static func run(
        settings: [UInt16: UInt32] = [:], connections: Int = 64, responding moment: Moment = .atItsEnd,
        by respond: @escaping Responder, _ body: (HTTP2WirePeer, SocketTransport) async throws -> Void
    ) async throws {
        let identity = try MockServer.TLSIdentity.generated()
        var configuration = MockServer.Configuration(tls: identity)
        configuration.agreesOnHTTP2 = true
        try await MockServer.run(configuration) { server in
            let peer = HTTP2WirePeer(server.baseURL, identity.clientSettings, settings, moment, respond)
            server.onAccept { number in
                MockServer.Step.conversing { conversation in
                    try await peer.serve(HTTP2WireConnection(number: number, conversation: conversation))
                }
            }
            let transport = SocketTransport(maxConnectionsPerHost: connections)
            do {
                try await body(peer, transport)
            } catch {
                await transport.shutdown()
                throw error
            }
            await transport.shutdown()
        }
    }

    // MARK: Requests

    /// A request whose method, or key, says whether it may be repeated. The transport sends all of them once.
    enum Kind: CaseIterable, Sendable {
        case get, post, keyedPost
    }

    func request(
        _ kind: Kind = .get, body: Data = Data("body".utf8),
        delivery: TransportRequest.Delivery = .buffered(limit: 1 << 20)
    ) -> TransportRequest {
        var urlRequest = URLRequest(url: baseURL)
        if kind != .get {
            urlRequest.httpMethod = "POST"
            urlRequest.httpBody = body
        }
        if kind == .keyedPost { urlRequest.setValue("key", forHTTPHeaderField: "Idempotency-Key") }
        return TransportRequest(
            urlRequest: urlRequest, body: kind == .get ? .none : .bytes(body), delivery: delivery, connectTimeout: 600,
            idleTimeout: 600, mayBeResent: kind != .post, tls: tls)
    }

    // MARK: Records

    var arrivals: [Arrival] { state.withLock { $0.arrivals } }
    var resets: [Reset] { state.withLock { $0.resets } }

    /// Returns when the condition holds.
    func wait(until condition: (HTTP2WirePeer) -> Bool) async {
        let (changes, change) = AsyncStream<Void>.makeStream()
        state.withLock { $0.watchers.append(change) }
        change.yield()
        for await _ in changes where condition(self) { return }
    }

    private func note(_ record: (inout State) -> Void) {
        let watchers = state.withLock { state in
            record(&state)
            return state.watchers
        }
        watchers.forEach { $0.yield() }
    }

    // MARK: Connections

    private func serve(_ connection: HTTP2WireConnection) async throws {
        do {
            guard try await connection.starts(with: Self.preface) else { return try await serveHTTP1(connection) }
            try await connection.send(.settings(settings))
            while let frame = try await connection.next() { try await handle(frame, of: connection) }
        } catch is HTTP2WireConnection.Ended {
            // A responder has ended it.
        }
    }

    private func handle(_ frame: HTTP2WireFrame, of connection: HTTP2WireConnection) async throws {
        typealias Kind = HTTP2WireFrame.Kind
        switch frame.kind {
        case Kind.settings where !frame.hasEndFlag:
            try await connection.send(HTTP2WireFrame(kind: Kind.settings, flags: HTTP2WireFrame.endFlag))
        case Kind.ping where !frame.hasEndFlag:
            var acknowledgment = frame
            acknowledgment.flags = HTTP2WireFrame.endFlag
            try await connection.send(acknowledgment)
        case Kind.headers:
            let arrival = Arrival(connection: connection.number, stream: frame.stream)
            note { $0.arrivals.append(arrival) }
            if frame.hasEndFlag || moment == .atItsHead { try await respond(stream(frame.stream, of: connection)) }
        case Kind.data where frame.hasEndFlag && moment == .atItsEnd:
            try await respond(stream(frame.stream, of: connection))
        case Kind.reset:
            let reset = Reset(connection: connection.number, stream: frame.stream, code: frame.number)
            note { $0.resets.append(reset) }
        default: break
        }
    }

    private func stream(_ id: Int32, of connection: HTTP2WireConnection) -> HTTP2WireStream {
        let arrival = Arrival(connection: connection.number, stream: id)
        // Among the latest.
        let index = state.withLock { $0.arrivals.lastIndex(of: arrival) } ?? 0
        return HTTP2WireStream(id: id, request: index, connection: connection)
    }

    private func serveHTTP1(_ connection: HTTP2WireConnection) async throws {
        let arrival = Arrival(connection: connection.number, stream: nil)
        note { $0.arrivals.append(arrival) }
        try await connection.conversation.send(
            Data("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nwell".utf8))
    }
}

/// A connection of a client to an ``HTTP2WirePeer``.
struct HTTP2WireConnection: Sendable {
    struct Ended: Error {}

    let number: Int
    let conversation: MockServer.Conversation
    private let input = Locked(Data())

    init(number: Int, conversation: MockServer.Conversation) {
        self.number = number
        self.conversation = conversation
    }

    /// Takes the bytes if the client sends them first.
    fileprivate func starts(with bytes: Data) async throws -> Bool {
        while input.withLock({ $0.count < bytes.count }) {
            guard let more = try await conversation.receive() else { return false }
            input.withLock { $0 += more }
        }
        return input.withLock { input in
            guard input.starts(with: bytes) else { return false }
            input = Data(input.dropFirst(bytes.count))
            return true
        }
    }

    /// Nil at the end.
    fileprivate func next() async throws -> HTTP2WireFrame? {
        while true {
            if let frame = input.withLock({ HTTP2WireFrame(takenFrom: &$0) }) { return frame }
            guard let more = try await conversation.receive() else { return nil }
            input.withLock { $0 += more }
        }
    }

    func send(_ frames: HTTP2WireFrame...) async throws {
        try await send(frames)
    }

    func send(_ frames: [HTTP2WireFrame]) async throws {
        try await conversation.send(frames.reduce(into: Data()) { $0 += $1.bytes })
    }

    /// Ends the connection by that step.
    func end(_ step: MockServer.Step) async throws {
        try await conversation.run(step)
        throw Ended()
    }
}

/// A request that has reached an ``HTTP2WirePeer``.
struct HTTP2WireStream: Sendable {
    let id: Int32
    /// The number of requests that came before.
    let request: Int
    let connection: HTTP2WireConnection

    func respond(status: Int = 200, _ text: String = "well") async throws {
        try await sendHead(status: status)
        try await connection.send(.data(id, text, isEnd: true))
    }

    func sendHead(status: Int = 200, isEnd: Bool = false) async throws {
        let fields = [(name: ":status", value: "\(status)"), (name: "content-type", value: "text/plain")]
        try await connection.send(.headers(id, fields, isEnd: isEnd))
    }

    func reset(_ code: UInt32) async throws {
        try await connection.send(.reset(id, code))
    }
}
#endif
