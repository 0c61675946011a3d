// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

/// The token store of an app; the server has just revoked the first token.
private actor Session: TokenProvider {
    private var token = "of yesterday"
    private(set) var refreshes = 0

    func accessToken() -> String? { token }

    func refreshToken() -> String {
        refreshes += 1
        token = "of today"
        return token
    }

    func handleAuthenticationFailure() {}
}

private struct GetOrders: Endpoint {
    typealias Response = [Int]

    let path = "/orders"
}

private struct GetWeather: Endpoint {
    typealias Response = String

    let path = "/weather"
    let options = RequestOptions().with(\.retry, value: .never)
}

private struct AddOrder: Endpoint {
    typealias Response = EmptyResponse

    let path = "/signed-orders"
    let method = HTTPMethod.post
    let queryParameters = ["express": "yes"]
    let body = RequestBody.json(["product": 7])
}

extension Stage {
    /// Plugins at work, each with its own client.
    func showPlugins(_ server: MockServer, _ bus: PulseEventBus) async {
        await showRefresh(server, bus)
        await showBreaker(server, bus)
        await showSignature(server, bus)
    }

    private func showRefresh(_ server: MockServer, _ bus: PulseEventBus) async {
        server.on(.get, "/orders") { request in
            request.headers["Authorization"] == "Bearer of today" ? .text("[1, 2, 3]") : .status(401)
        }
        let session = Session()
        let client = PulseClient(
            configuration: PulseConfiguration(baseURL: server.baseURL), plugins: [.auth(session), recorder],
            events: bus)
        await step("A hundred calls with an old token, one refresh", calls: 100) {
            let responses = try await withThrowingTaskGroup(of: [Int].self) { group in
                for _ in 0..<100 { group.addTask { try await client.request(GetOrders()) } }
                return try await group.reduce(into: [[Int]]()) { $0.append($1) }
            }
            let refreshes = await session.refreshes
            guard refreshes == 1, responses.allSatisfy({ $0 == [1, 2, 3] }) else {
                throw Unexpected(description: "\(refreshes) refreshes, \(responses.count) responses")
            }
            return "\(responses.count) responses after \(refreshes) refresh"
        }
        await client.shutdown()
    }

    private func showBreaker(_ server: MockServer, _ bus: PulseEventBus) async {
        server.on(.get, "/weather", script: [.status(500), .status(500), .text("sunny")])
        let breaker = CircuitBreakerPlugin(failureThreshold: 2, cooldownDuration: 30)
        // Half a minute passes only when the step advances this clock.
        let clock = TestClock()
        let client = PulseClient(
            configuration: PulseConfiguration(baseURL: server.baseURL).with(\.clock, value: clock),
            plugins: [breaker, recorder], events: bus)
        await step("A breaker opens, spares the server, and closes", calls: 4) {
            for _ in 0..<2 { _ = try? await client.request(GetWeather()) }
            let refused = await client.result(of: GetWeather())
            guard case .failure(.circuitOpen) = refused else { throw Unexpected(description: "\(refused)") }
            await clock.advance(by: 30)
            let weather = try await client.request(GetWeather())
            let count = server.requests.count { $0.path == "/weather" }
            guard count == 3 else { throw Unexpected(description: "\(count) requests") }
            return "\(weather) again; the server saw \(count) of 4 calls"
        }
        await client.shutdown()
    }

    private func showSignature(_ server: MockServer, _ bus: PulseEventBus) async {
        let verifier = SignatureVerifier(secret: "known to both sides")
        server.on(.post, "/signed-orders") { request in
            let verdict = verifier.verdict(
                method: .post, target: request.target, headers: request.headers, body: request.body)
            return .status(verdict.isAccepted ? 201 : 403)
        }
        let client = PulseClient(
            configuration: PulseConfiguration(baseURL: server.baseURL),
            plugins: [.signing(secret: "known to both sides"), recorder], events: bus)
        await step("A signed request") {
            let response = try await client.rawRequest(AddOrder())
            return "\(response.statusCode): the server verified path, query, time and body"
        }
        await client.shutdown()
    }
}
