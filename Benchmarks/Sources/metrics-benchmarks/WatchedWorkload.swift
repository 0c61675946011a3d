// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

/// The observed call: a GET whose mock response has 47 bytes of JSON.
enum WatchedWorkload {
    struct User: Decodable, Sendable {
        let id: Int
        let name: String
        let isActive: Bool
    }

    struct GetUser: Endpoint {
        typealias Response = User
        let path = "/users/42"
    }

    static func client(_ bus: PulseEventBus) throws -> PulseClient {
        guard let url = URL(string: "https://api.example.com") else { throw URLError(.badURL) }
        let json = Data(#"{"id":42,"name":"Ada Lovelace","isActive":true}"#.utf8)
        var response = PulseResponse(
            statusCode: 200, headers: ["Content-Type": "application/json"], data: json, request: URLRequest(url: url))
        response.timings = timings
        return PulseClient(
            configuration: PulseConfiguration(baseURL: url),
            transport: MockTransport(recordsRequests: false) { [response] _ in response }, events: bus)
    }

    /// As a transport measures them: the size of every event, and the collector's work, depend on them.
    private static var timings: PulseResponse.Timings {
        var timings = PulseResponse.Timings()
        (timings.queued, timings.nameResolved, timings.connected) = (0.0001, 0.001, 0.002)
        (timings.secured, timings.requestSent, timings.firstByte) = (0.005, 0.0052, 0.011)
        (timings.lastByte, timings.isConnectionReused) = (0.012, false)
        (timings.networkProtocol, timings.remoteAddress) = ("h2", "93.184.215.14:443")
        (timings.bytesReceived, timings.bytesDecoded) = (47, 47)
        return timings
    }

    /// Nanoseconds for each call.
    static func time(of client: PulseClient, calls: Int) async throws -> Double {
        let clock = SystemClock()
        let start = clock.uptime
        for _ in 0..<calls { keep(try await client.request(GetUser())) }
        return (clock.uptime - start) * 1e9 / Double(calls)
    }

    /// Those of one call.
    static let events = events("GetUser", latency: 0.012)

    static func events(_ route: String, latency: TimeInterval) -> [NetworkEvent] {
        let call = NetworkEvent.CallSummary(
            id: UUID(), endpointPath: "/users/42", route: route, method: .get, host: "api.example.com")
        let response = NetworkEvent.ResponseSummary(statusCode: 200, byteCount: 47, origin: .network, timings: timings)
        return [
            .requestStarted(call), .attemptStarted(call), .responseReceived(call, status: 200, byteCount: 47),
            .requestCompleted(.success(response), call, latency: latency),
        ]
    }
}
