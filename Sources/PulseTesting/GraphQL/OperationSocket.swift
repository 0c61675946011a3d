// SPDX-License-Identifier: MIT

import PulseCore

/// The server side of graphql-transport-ws over one socket.
final class OperationSocket: Sendable {
    static let subprotocol = "graphql-transport-ws"
    /// The time limit for `connection_init`, in seconds.
    private static let initializationTimeout: TimeInterval = 3

    /// An operation of the socket. A client may reuse an id; the number tells such operations apart.
    private struct Operation: Sendable {
        let id: String
        let number: Int
    }

    private struct State {
        /// The payload of `connection_init`; nil until it arrives.
        var connectionPayload: [String: JSONValue]?
        var hasEnded = false
        /// The numbers of the active operations by their ids.
        var active: [String: Int] = [:]
        /// The tasks that run, by the numbers of their operations.
        var tasks: [Int: Task<Void, Never>] = [:]
        var count = 0
    }

    private let socket: ServerSocket
    private let service: OperationService
    private let state = Locked(State())
    /// Checks and sends one message at a time, so that nothing follows the end of its operation.
    private let sending = KeyedSemaphore<Int>(limit: 1)

    init(_ socket: ServerSocket, of service: OperationService) {
        (self.socket, self.service) = (socket, service)
    }

    /// Serves the socket until the client disconnects or it is closed. Its operations have ended when it returns.
    func serve() async {
        let timer = Task { await closeWithoutInitialization() }
        do {
            guard socket.subprotocol == Self.subprotocol else { throw Violation(4406, "Subprotocol not acceptable") }
            while let message = try await socket.receive() {
                try await take(message)
                if state.withLock({ $0.connectionPayload != nil }) { timer.cancel() }
            }
        } catch let violation as Violation {
            try? await close(violation.close)
        } catch {
            // The client has disconnected, or the server shuts down.
        }
        timer.cancel()
        await timer.value
        for task in end() { await task.value }
    }

    private func closeWithoutInitialization() async {
        guard (try? await service.clock.sleep(Self.initializationTimeout, for: .delay)) != nil,
            state.withLock({ $0.connectionPayload == nil })
        else { return }
        try? await close(ServerSocket.Close(code: 4408, reason: "Connection initialisation timeout"))
    }

    /// Cancels the operations, and returns their tasks. No further operation starts.
    @discardableResult
    private func end() -> [Task<Void, Never>] {
        let tasks = state.withLock { state in
            state.hasEnded = true
            state.active = [:]
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
        return tasks
    }

    private func close(_ close: ServerSocket.Close) async throws {
        try await socket.close(code: close.code, reason: close.reason)
        end()
    }

    // MARK: Messages of the client

    /// A message that the protocol forbids, with the close frame for it.
    private struct Violation: Error {
        let close: ServerSocket.Close

        init(_ code: Int, _ reason: String) {
            // The reason may contain text of the client.
            var reason = String(reason.prefix(123))
            while reason.utf8.count > 123 { reason.removeLast() }
            close = ServerSocket.Close(code: code, reason: reason)
        }
    }

    private func take(_ message: SocketMessage) async throws {
        let read: OperationMessage
        do {
            read = try OperationMessage(message)
        } catch {
            throw Violation(4400, "Invalid message: \(error.reason)")
        }
        switch read {
        case .initialize(let payload):
            let isFirst = state.withLock { state in
                defer { state.connectionPayload = state.connectionPayload ?? payload }
                return state.connectionPayload == nil
            }
            guard isFirst else { throw Violation(4429, "Too many initialisation requests") }
            await send(try OperationMessage.text("connection_ack"))
        case .ping(let payload):
            await send(try OperationMessage.text("pong", payload: payload.map { try JSONEncoder().encode($0) }))
        case .pong:
            break
        case .subscribe(let id, let payload):
            try start(id, payload)
        case .complete(let id):
            state.withLock { state in state.active.removeValue(forKey: id).flatMap { state.tasks[$0] } }?.cancel()
        }
    }

    private func start(_ id: String, _ payload: [String: JSONValue]) throws {
        try state.withLock { state in
            guard let connectionPayload = state.connectionPayload else { throw Violation(4401, "Unauthorized") }
            guard state.active[id] == nil else { throw Violation(4409, "Subscriber for \(id) already exists") }
            guard !state.hasEnded else { return }
            state.count += 1
            let operation = Operation(id: id, number: state.count)
            state.active[id] = operation.number
            state.tasks[operation.number] = Task {
                await run(operation, payload, connectionPayload)
                self.state.withLock { $0.tasks[operation.number] = nil }
            }
        }
    }

    // MARK: Operations

    private func run(
        _ operation: Operation, _ payload: [String: JSONValue], _ connectionPayload: [String: JSONValue]
    ) async {
        do {
            var received = try ReceivedOperation(payload, of: socket.request, document: service.document)
            received.connectionPayload = connectionPayload
            received.socket = socket
            let reply = try await service.respond(received)
            if case .errors(let errors) = reply.content {
                try await fail(operation, errors)
            } else {
                try await deliver(reply, of: operation)
                await send(try OperationMessage.text("complete", id: operation.id), of: operation, isLast: true)
            }
        } catch {
            do {
                try await fail(operation, OperationService.errors(of: error))
            } catch {
                try? await close(ServerSocket.Close(code: 4500, reason: "The errors are no JSON"))
            }
        }
    }

    private func deliver(_ reply: OperationReply, of operation: Operation) async throws {
        switch reply.content {
        case .response, .errors:
            await send(try OperationMessage.text("next", id: operation.id, payload: reply.body), of: operation)
            // Events that are always ready would keep the thread from the other operations and the client's messages.
            await Task.yield()
        case .events(let forEach):
            try await forEach { try await self.deliver($0, of: operation) }
        case .close(let close):
            if state.withLock({ $0.active[operation.id] == operation.number }) { try await self.close(close) }
        }
    }

    private func fail(_ operation: Operation, _ errors: [GraphQLError]) async throws {
        let payload = try JSONEncoder().encode(errors)
        await send(
            try OperationMessage.text("error", id: operation.id, payload: payload), of: operation, isLast: true)
    }

    /// Sends a message, unless its operation has ended.
    ///
    /// - Parameter isLast: whether the operation ends with it. Its id is free before the client reads the message.
    private func send(_ message: SocketMessage, of operation: Operation? = nil, isLast: Bool = false) async {
        guard (try? await sending.acquire(0)) != nil else { return }
        defer { sending.release(0) }
        let isDue = state.withLock { state in
            guard let operation else { return true }
            guard state.active[operation.id] == operation.number else { return false }
            if isLast { state.active[operation.id] = nil }
            return true
        }
        // A failed send means a disconnect, which ends all operations.
        if isDue { try? await socket.send(message) }
    }
}
