// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport

/// A client with an ``AuthPlugin``, and a transport that responds with 401 unless it knows the token.
struct AuthStage {
    let session: FakeSession
    let plugin: AuthPlugin
    let clock = TestClock()
    let events = AuthEvents()
    let transport: MockTransport
    let client: PulseClient

    static let home = "https://api.example.com"

    /// - Parameter refusesAll: rejects every token; otherwise all but `t1` are valid.
    /// - Parameter hold: the gate at which each request waits before its response.
    init(
        _ session: FakeSession = FakeSession(), base: String? = home, plugins: [any PulsePlugin] = [],
        hold: Gate = Gate(isOpen: true),
        refusesAll: Bool = false,
        responding respond: (@Sendable (URLRequest) async throws -> PulseResponse?)? = nil
    ) {
        self.session = session
        plugin = AuthPlugin(tokenProvider: session)
        transport = MockTransport { request in
            await hold.pass()
            if let response = try await respond?(request) { return response }
            let field = request.value(forHTTPHeaderField: "Authorization")
            let isGood = !refusesAll && field?.hasPrefix("Bearer ") == true && field != "Bearer t1"
            return PulseResponse(statusCode: isGood ? 200 : 401, data: Data("ok".utf8), request: request)
        }
        client = ClientStage.client(
            PulseConfiguration().with(\.baseURL, value: base.flatMap { URL(string: $0) }), plugins: [plugin] + plugins,
            retry: .never, clock: clock, over: transport, events: PulseEventBus(sink: events))
    }

    /// The `Authorization` fields sent, in order; empty for none.
    var sentTokens: [String] {
        transport.requests.map { $0.value(forHTTPHeaderField: "Authorization") ?? "" }
    }

    @discardableResult
    func get(_ path: String = "/a", auth: RequestOptions.Auth? = nil, deadline: TimeInterval? = nil) async throws
        -> PulseResponse
    {
        try await client.rawRequest(
            Get(path: path),
            options: RequestOptions().with(\.auth, value: auth).with(\.deadline, value: deadline))
    }

    /// The failure of a call; nil if it succeeds.
    func failure(_ path: String = "/a", auth: RequestOptions.Auth? = nil, deadline: TimeInterval? = nil) async
        -> PulseError?
    {
        do {
            try await get(path, auth: auth, deadline: deadline)
            return nil
        } catch {
            return PulseError(wrapping: error)
        }
    }
}

struct Get: Endpoint {
    typealias Response = Data

    let path: String
}
