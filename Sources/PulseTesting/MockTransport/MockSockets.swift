// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseSockets

/// The sockets of a ``MockTransport``: each runs its closure in a task until either side ends the connection.
final class MockSockets: Sendable {
    private struct Open {
        let connection: MemoryConnection
        let task: Task<Void, Never>
    }

    private struct State {
        var handshakeCount = 0
        var records: [ServerSocket.Record] = []
        var open: [Int: Open] = [:]
        var isShutDown = false
    }

    private let subprotocols: [String]
    private let limits: DeflateParameters?
    private let clock: any PulseClock
    private let body: @Sendable (ServerSocket) async throws -> Void
    private let state = Locked(State())

    init(
        subprotocols: [String], compressing limits: DeflateParameters?, clock: any PulseClock,
        _ body: @escaping @Sendable (ServerSocket) async throws -> Void
    ) {
        self.subprotocols = subprotocols
        self.limits = limits
        self.clock = clock
        self.body = body
    }

    /// The sockets so far, in order.
    var records: [ServerSocket.Record] { state.withLock { $0.records } }

    /// The response to a handshake: a 101 with the client's end of a connection, or a refusal.
    func response(to request: URLRequest) throws -> PulseResponse {
        let index = state.withLock { state in
            defer { state.handshakeCount += 1 }
            return state.handshakeCount
        }
        let recorded = RecordedRequest(simulated: request, connection: index)
        let acceptance: SocketAcceptance
        do {
            acceptance = try SocketAcceptance(of: recorded, subprotocols: subprotocols, compressing: limits)
        } catch let refusal as SocketAcceptance.Refusal {
            return PulseResponse(
                statusCode: refusal.response.status, headers: refusal.response.headers,
                data: refusal.response.body.simulated, request: request, origin: .mock)
        }
        let (client, server) = MemoryConnection.pair()
        try serve(recorded, acceptance, over: server)
        var response = PulseResponse(statusCode: 101, headers: acceptance.headers, request: request, origin: .mock)
        response.body = .connection(client)
        return response
    }

    private func serve(
        _ request: RecordedRequest, _ acceptance: SocketAcceptance, over connection: MemoryConnection
    ) throws {
        let task = try state.withLock { state in
            guard !state.isShutDown else { throw PulseError.cancelled }
            let index = state.records.count
            let record = ServerSocket.Record(request, acceptance)
            state.records.append(record)
            let wire = MemoryWire(connection: connection, clock: clock)
            let socket = ServerSocket(request, record, acceptance.deflate, over: wire) { record in
                self.state.withLock { $0.records[index] = record }
            }
            let task = Task {
                await socket.serve(self.body)
                connection.close()
                self.state.withLock { $0.open[index] = nil }
            }
            state.open[index] = Open(connection: connection, task: task)
            return task
        }
        connection.onPeerEnd { task.cancel() }
    }

    /// Closes all connections, and waits for their tasks.
    func shutdown() async {
        let open = state.withLock { state in
            state.isShutDown = true
            return Array(state.open.values)
        }
        for socket in open {
            socket.connection.close()
            socket.task.cancel()
        }
        for socket in open { await socket.task.value }
    }
}
