// SPDX-License-Identifier: MIT

#if os(Linux)
import Dispatch
import PulseCore
import PulsePlatform

/// An HTTP/2 server over TLS in front of a cleartext ``MockServer``, so that each script of that server also runs over
/// HTTP/2.
///
/// Each stream is one connection to the server. The end of its response becomes END_STREAM, a connection that ends
/// early becomes RST_STREAM with INTERNAL_ERROR, and a reset by the client closes the connection. Bodies are streamed
/// both ways with backpressure. A client that does not offer `h2` is relayed to the server directly.
package final class HTTP2Front: Sendable {
    private struct Served {
        let connection: HTTP2FrontConnection
        let task: Task<Void, Never>
    }

    private struct State {
        var served: [Int: Served] = [:]
        var count = 0
        var isOpen = true
    }

    /// `https://127.0.0.1:PORT`, without a trailing slash.
    package let baseURL: URL
    private let serverPort: Int
    private let tls: TLSServer
    private let listener: Listener
    private let poller: ReadinessPoller
    private let queue = DispatchQueue(label: "PulseTesting.HTTP2Front")
    private let state = Locked(State())

    private init(_ identity: MockServer.TLSIdentity, serverPort: Int) throws {
        // Throws now what each connection would throw.
        _ = try HTTP2FrontSession()
        self.serverPort = serverPort
        let configuration = MockServer.Configuration(tls: identity)
        tls = try TLSServer(identity, configuration)
        tls.prefer("h2")
        poller = try ReadinessPoller.shared()
        listener = try Listener(host: .ipv4, backlog: configuration.backlog, poller)
        guard let url = URL(string: "https://127.0.0.1:\(listener.port)") else {
            throw SocketFailure(operation: "URL", code: 0)
        }
        baseURL = url
    }

    /// Starts a front on a free port of the loopback interface, which lives until ``shutdown()``.
    ///
    /// Throws ``PulseError/unsupported(_:)`` without libssl or nghttp2.
    package static func start(_ identity: MockServer.TLSIdentity, before server: MockServer) throws -> HTTP2Front {
        let front = try HTTP2Front(identity, serverPort: server.port)
        front.listener.open(on: front.queue) { front.accept($0) }
        return front
    }

    /// Connections accepted so far.
    package var connectionCount: Int { state.withLock { $0.count } }

    /// Sends GOAWAY, closes the listener and all connections, and returns when all are closed.
    package func shutdown() async {
        let served = state.withLock { state in
            state.isOpen = false
            return Array(state.served.values)
        }
        listener.close()
        served.forEach { $0.connection.stop() }
        await listener.disposal()
        for connection in served { await connection.task.value }
    }

    private func accept(_ descriptor: SocketDescriptor) {
        let socket = SocketStream(SocketChannel(descriptor, securedBy: tls), poller, queue: queue)
        let connection = try? HTTP2FrontConnection(socket) { [poller, queue, serverPort] in
            try SocketStream(SocketChannel(.connecting(toLoopbackPort: serverPort)), poller, queue: queue)
        }
        let isServed = state.withLock { state in
            guard let connection, state.isOpen else { return false }
            let number = state.count
            state.count += 1
            let task = Task {
                await connection.run()
                self.ended(number)
            }
            state.served[number] = Served(connection: connection, task: task)
            return true
        }
        if !isServed { descriptor.dispose() }
    }

    private func ended(_ number: Int) {
        state.withLock { state in
            state.served[number] = nil
        }
        listener.retry()
    }
}
#endif
