// SPDX-License-Identifier: MIT

import PulseCore

/// A transport without a wire: a closure, or stubs, answer each request.
///
/// ```swift
/// let transport = MockTransport { request in
///     PulseResponse(statusCode: 200, data: Data("[]".utf8), request: request)
/// }
/// let client = PulseClient(configuration: configuration, transport: transport)
/// ```
///
/// It keeps a transport's contract: it enforces the limit of a buffered body, hands out streams and files for 2xx
/// alone, and a cancelled task gets its `CancellationError` at once, even while the closure goes on. What the closure
/// throws passes as it is; the chain turns it into a ``PulseError``. Safe from any thread; calls run concurrently.
public final class MockTransport: Transport {
    private struct State {
        var requests: [TransportRequest] = []
        var running: [Int: Race<PulseResponse>] = [:]
        var nextID = 0
        var isShutDown = false
    }

    private let respond: @Sendable (URLRequest) async throws -> PulseResponse
    private let state = Locked(State())

    /// Answers with what the closure gives or throws. It runs once for every request, in a task that is cancelled with
    /// the call's.
    public init(_ respond: @escaping @Sendable (URLRequest) async throws -> PulseResponse) {
        self.respond = respond
    }

    /// Answers with the first stub that matches. A request that none matches fails with ``PulseError/custom(_:)`` over
    /// an ``UnmatchedRequest``, whose text says why each stub did not.
    public convenience init(stubs: [Stub]) {
        self.init { request in
            try await Stub.answer(request, from: stubs)
        }
    }

    /// Every policy is satisfied: there is no wire on which it could be broken.
    public var capabilities: TransportCapabilities { .simulated }

    /// What was sent, in order. A call that is cancelled while it waits for its answer is among them; one that was
    /// cancelled before is not.
    public var requests: [URLRequest] {
        state.withLock { $0.requests.map(\.urlRequest) }
    }

    /// The same with all that a transport is told: file and stream bodies, timeouts, pins.
    public var transportRequests: [TransportRequest] {
        state.withLock(\.requests)
    }

    /// Answers, throws what the closure throws, or throws `CancellationError`; also
    /// ``PulseError/responseTooLarge(limit:)``, and ``PulseError/unsupported(_:)`` for an upgrade.
    public func send(_ request: TransportRequest) async throws -> PulseResponse {
        if case .upgrade = request.delivery {
            throw PulseError.unsupported("MockTransport has no sockets")
        }
        try Task.checkCancellation()
        let race = Race<PulseResponse>()
        let id = try state.withLock { state in
            guard !state.isShutDown else { throw PulseError.cancelled }
            state.requests.append(request)
            state.nextID += 1
            state.running[state.nextID] = race
            return state.nextID
        }
        defer { state.withLock { _ = $0.running.removeValue(forKey: id) } }
        let response = try await race.run { [respond] in
            let response = try await respond(request.urlRequest)
            return try await MockDelivery(request).deliver(response)
        }
        return response
    }

    /// Cancels what is under way and refuses what comes later, with ``PulseError/cancelled``.
    public func shutdown() async {
        let running = state.withLock { state in
            state.isShutDown = true
            return Array(state.running.values)
        }
        running.forEach { $0.cancel() }
    }
}
