// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import PulsePlatform

/// The shared state of a server's connections, and the list of open ones.
final class ServerCore: Sendable {
    private struct Served {
        let socket: SocketStream
        let task: Task<Void, Never>
    }

    private struct State {
        var router = Router()
        var served: [Int: Served] = [:]
        var isOpen = true
    }

    let configuration: MockServer.Configuration
    let clock: any PulseClock
    let log = ActivityLog()
    let port: Int
    private let tls: TLSServer?
    private let listener: Listener
    private let poller: ReadinessPoller
    private let queue = DispatchQueue(label: "PulseTesting.MockServer")
    private let state = Locked(State())

    init(_ configuration: MockServer.Configuration, clock: any PulseClock) throws {
        self.configuration = configuration
        self.clock = clock
        tls = try configuration.tls.map { try TLSServer($0, configuration) }
        if configuration.agreesOnHTTP2 { tls?.prefer("h2") }
        poller = try ReadinessPoller.shared()
        listener = try Listener(host: configuration.host, backlog: configuration.backlog, poller)
        port = listener.port
    }

    func open() {
        listener.open(on: queue) { self.serve($0) }
    }

    /// Closes everything and returns at once; ``disposal()`` returns when it is done.
    func close() {
        let served = state.withLock { state in
            state.isOpen = false
            // Closures of a test often retain the server, which would be a retain cycle.
            state.router = Router()
            return Array(state.served.values)
        }
        listener.close()
        for connection in served {
            // First: a handler that returns because it is cancelled must not send a response or a close frame.
            connection.socket.close()
            connection.task.cancel()
        }
        log.finish()
    }

    func disposal() async {
        await listener.disposal()
        for connection in state.withLock({ Array($0.served.values) }) {
            await connection.task.value
        }
    }

    func route(_ change: (inout Router) -> Void) {
        state.withLock { change(&$0.router) }
    }

    func match(_ method: HTTPMethod, path: String) -> Router.Match {
        state.withLock { $0.router }.match(method, path: path)
    }

    func greeting(of connection: Int) -> [MockServer.Step] {
        state.withLock { $0.router }.greetingMaker?(connection) ?? []
    }

    private func serve(_ descriptor: SocketDescriptor) {
        descriptor.setBufferSizes(receive: configuration.receiveBufferSize, send: configuration.sendBufferSize)
        let channel = tls.map { SocketChannel(descriptor, securedBy: $0) } ?? SocketChannel(descriptor)
        let socket = SocketStream(channel, poller, queue: queue)
        let index = log.accepted()
        let isServed = state.withLock { state in
            guard state.isOpen else { return false }
            let task = Task {
                var loop = ConnectionLoop(index: index, socket: socket, core: self)
                await loop.run()
                self.ended(index)
            }
            state.served[index] = Served(socket: socket, task: task)
            return true
        }
        guard isServed else {
            descriptor.dispose()
            return log.closed(index)
        }
    }

    private func ended(_ index: Int) {
        state.withLock { state in
            state.served[index] = nil
        }
        listener.retry()
    }
}
