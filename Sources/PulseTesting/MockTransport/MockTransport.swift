// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulseNetworking
import PulsePlatform
import PulseSockets

/// A transport without a network: a closure or stubs provide the response to each request.
///
/// ```swift
/// let transport = MockTransport { request in
///     PulseResponse(statusCode: 200, data: Data("[]".utf8), request: request)
/// }
/// let client = PulseClient(configuration: configuration, transport: transport)
/// ```
///
/// It follows a transport's contract: it enforces the limit of a buffered body, delivers streams and files for 2xx
/// only, and a cancelled task gets `CancellationError` as soon as the closure ends. An error of the closure is passed
/// on unchanged; the chain converts it to a ``PulseError``. Safe from any thread; calls run concurrently.
///
/// Before the closure runs, a call's ``RequestOptions/progress`` gets the upload of the body in steps of 256 KiB. A
/// client throttles them by its clock: with a `TestClock` that stands still, only the first and the last step remain.
/// Of stream bodies, only those of unknown length that are not one-shot are read for this.
public final class MockTransport: Transport {
    private struct State {
        var requests: [TransportRequest] = []
        var isShutDown = false
    }

    private let respond: @Sendable (TransportRequest) async throws -> PulseResponse
    private let recordsRequests: Bool
    private let mockSockets: MockSockets?
    private let state = Locked(State())

    /// Returns or throws the result of the closure. The closure runs once per request, in the call's own task: a wait
    /// in it ends with the call if it respects cancellation, as `PulseClock.sleep` does.
    ///
    /// - Parameter recordsRequests: false keeps ``requests`` empty, for long runs that would fill the memory; true by
    ///   default.
    public init(
        recordsRequests: Bool = true, _ respond: @escaping @Sendable (URLRequest) async throws -> PulseResponse
    ) {
        self.recordsRequests = recordsRequests
        mockSockets = nil
        self.respond = { try await respond($0.urlRequest) }
    }

    /// Replies with the first stub that matches. A request without a match fails with a ``PulseError/custom(_:)`` whose
    /// text has the reason for each stub.
    public init(stubs: [Stub]) {
        recordsRequests = true
        mockSockets = nil
        respond = { try await Stub.response(to: $0, from: stubs) }
    }

    /// Opens an in-memory WebSocket for each handshake that matches no stub, so that a stub can reject one. An invalid
    /// handshake gets a 400 or 426. Only the stubs reply to other requests.
    ///
    /// ```swift
    /// let transport = MockTransport(stubs: []) { socket in
    ///     while let message = try await socket.receive() { try await socket.send(message) }
    /// }
    /// ```
    ///
    /// The closure runs in a task that is cancelled when the client disconnects or the transport shuts down; earlier
    /// messages can still be received. A side that is 64 KiB ahead of the other waits for it.
    ///
    /// - Parameters:
    ///   - subprotocols: the server's. The first of them that the client offers is selected.
    ///   - compresses: whether to accept permessage-deflate if the client offers it (RFC 7692). Needs the system's
    ///     zlib, which can be loaded on Linux only.
    ///   - clock: the clock of ``MockServer/Step/delay(_:)``.
    public init(
        stubs: [Stub], subprotocols: [String] = [], compresses: Bool = false, clock: any PulseClock = SystemClock(),
        onSocket: @escaping @Sendable (ServerSocket) async throws -> Void
    ) {
        let sockets = MockSockets(
            subprotocols: subprotocols, compressing: compresses ? DeflateParameters() : nil, clock: clock, onSocket)
        recordsRequests = true
        mockSockets = sockets
        respond = { request in
            guard case .upgrade = request.delivery else { return try await Stub.response(to: request, from: stubs) }
            return try await Stub.response(to: request, from: stubs) { try sockets.response(to: request.urlRequest) }
        }
    }

    /// Every policy is satisfied, because there is no network.
    public var capabilities: TransportCapabilities { .simulated }

    /// The requests that were sent, in order. A call that was cancelled while it waited for its response is included; a
    /// call that was cancelled before is not.
    public var requests: [URLRequest] {
        state.withLock { $0.requests.map(\.urlRequest) }
    }

    /// The requests with all data for a transport: file and stream bodies, timeouts, pins.
    public var transportRequests: [TransportRequest] {
        state.withLock { $0.requests }
    }

    /// The sockets that were opened so far, in order.
    public var sockets: [ServerSocket.Record] { mockSockets?.records ?? [] }

    /// Returns the response, or throws the closure's error or `CancellationError`.
    ///
    /// Also throws a ``TransportFailure`` for a body that fails or is larger than the limit,
    /// ``PulseError/unsupported(_:)`` for an upgrade without a closure for sockets, and
    /// ``PulseError/invalidRequest(reason:)`` for a request line and header fields beyond
    /// ``PulseCore/TransportRequest/maxHeadSize``.
    public func send(_ request: TransportRequest) async throws -> PulseResponse {
        if case .upgrade = request.delivery, mockSockets == nil {
            throw PulseError.unsupported("MockTransport has no sockets")
        }
        try request.checkHeadSize()
        try Task.checkCancellation()
        try state.withLock { state in
            guard !state.isShutDown else { throw PulseError.cancelled }
            if recordsRequests { state.requests.append(request) }
        }
        if let upload = MockUpload(request) { try await upload.report() }
        let response = try await respond(request)
        try Task.checkCancellation()
        let delivery = SimulatedDelivery(request)
        if let response = delivery.deliverAtOnce(response) { return response }
        return try await delivery.deliver(response)
    }

    /// Shuts the transport down: later requests fail with ``PulseError/cancelled``. Closes all sockets, cancels their
    /// closures and waits for them; do not await it inside one of them.
    public func shutdown() async {
        state.withLock { $0.isShutDown = true }
        await mockSockets?.shutdown()
    }
}
