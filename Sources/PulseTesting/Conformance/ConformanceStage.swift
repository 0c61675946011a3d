// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

/// The stage of a case: the transport under test and the server it talks to.
struct ConformanceStage: Sendable {
    let transport: any Transport
    let server: any ConformanceServer
    let baseURL: URL
    var tls = TLSSettings.default

    // MARK: Requests

    /// A request to the server; `target` is its path and query, percent-encoded.
    func request(
        _ method: HTTPMethod = .get, _ target: String = "/", headers: [String: String] = [:],
        body: TransportRequest.Body = .none, delivery: TransportRequest.Delivery = .buffered(limit: 16 << 20),
        idleTimeout: TimeInterval = 60
    ) throws -> TransportRequest {
        try request(
            method, at: baseURL.absoluteString + target, headers: headers, body: body, delivery: delivery,
            idleTimeout: idleTimeout)
    }

    func request(
        _ method: HTTPMethod = .get, at address: String, headers: [String: String] = [:],
        body: TransportRequest.Body = .none, delivery: TransportRequest.Delivery = .buffered(limit: 16 << 20),
        connectTimeout: TimeInterval = 10, idleTimeout: TimeInterval = 60
    ) throws -> TransportRequest {
        guard let url = URL(string: address) else { throw Check.Failure(reason: "no URL: \(address)") }
        var urlRequest = URLRequest(url: url)
        urlRequest.httpMethod = method.rawValue
        for (name, value) in headers { urlRequest.setValue(value, forHTTPHeaderField: name) }
        if case .bytes(let data) = body { urlRequest.httpBody = data }
        return TransportRequest(
            urlRequest: urlRequest, body: body, delivery: delivery, connectTimeout: connectTimeout,
            idleTimeout: idleTimeout, mayBeResent: method.isIdempotent || urlRequest.hasIdempotencyKey, tls: tls)
    }

    // MARK: Sending

    /// Sends a request and returns its response. A transport error breaks the promise.
    func send(_ request: TransportRequest) async throws -> PulseResponse {
        do {
            return try await transport.send(request)
        } catch {
            throw Check.Failure(reason: "\(request.method) failed: \(PulseError(wrapping: error))")
        }
    }

    /// The response to a GET.
    func get(_ target: String = "/") async throws -> PulseResponse {
        try await send(request(.get, target))
    }

    /// The error of a request that must fail, as the client would throw it.
    func failure(of request: TransportRequest) async throws -> PulseError {
        try await failure(of: start(request), for: request)
    }

    func failure(
        of task: Task<PulseResponse, any Error>, for request: TransportRequest
    ) async throws -> PulseError {
        switch await task.result {
        case .success(let response):
            throw Check.Failure(reason: "it succeeded: \(response.statusCode) with \(response.data.count) bytes")
        case .failure(let error): return PulseError(wrapping: error, request: request.urlRequest)
        }
    }

    func expect(_ expected: ExpectedFailure, of request: TransportRequest) async throws {
        try await expected.verify(failure(of: request))
    }

    /// Sends in a separate task, for cases that continue meanwhile.
    func start(_ request: TransportRequest) -> Task<PulseResponse, any Error> {
        Task { [transport] in try await transport.send(request) }
    }

    // MARK: The server's record

    var requests: [RecordedRequest] { server.activity.requests }

    /// The only request received; throws for any other number.
    func onlyRequest() throws -> RecordedRequest {
        try Check.equal(requests.count, 1, "the number of received requests")
        return requests[0]
    }

    func requests(atLeast count: Int) async throws {
        try await server.wait { $0.requests.count >= count }
    }

    /// The largest number of connections that were open at the same time while `body` ran.
    func mostConnections(during body: () async throws -> Void) async throws -> Int {
        let peak = Locked(0)
        // Evaluated after every change, and never true.
        let watch = Task.startingNow { [server] in
            _ = try await server.wait { activity in
                peak.withLock { $0 = max($0, activity.openConnectionCount) }
                return false
            }
        }
        defer { watch.cancel() }
        try await body()
        return peak.withLock { $0 }
    }

    /// Returns when clients have closed or reset `count` connections.
    func requestsSent(atLeast count: Int) async throws {
        try await server.wait { $0.connectionsClosedByClient.count >= count }
    }
}

extension TransportRequest {
    var method: String { urlRequest.httpMethod ?? "GET" }
}
