// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting

/// A client over a mock, with what a test reads afterwards: its requests and events.
///
/// The static functions make clients over other transports as well. Every client has a bus of its own by default.
package struct ClientStage: Sendable {
    package let client: PulseClient
    /// Has every event of the client.
    package let sink = RecordingSink()
    private let mock: MockTransport

    /// By default, the mock responds to every request with the user. Without a retry policy and a clock, those of the
    /// configuration apply.
    package init(
        _ configuration: PulseConfiguration = .test(), plugins: [any PulsePlugin] = [], retry: RetryPolicy? = nil,
        clock: (any PulseClock)? = nil, over mock: MockTransport = .responding()
    ) {
        self.mock = mock
        client = Self.client(
            configuration, plugins: plugins, retry: retry, clock: clock, over: mock, events: PulseEventBus(sink: sink))
    }

    /// What the mock got, in order.
    package var requests: [URLRequest] { mock.requests }
    package var transportRequests: [TransportRequest] { mock.transportRequests }

    /// A client over a transport.
    package static func client(
        _ configuration: PulseConfiguration = .test(), plugins: [any PulsePlugin] = [], retry: RetryPolicy? = nil,
        clock: (any PulseClock)? = nil, over transport: any Transport = .responding(),
        events: PulseEventBus = PulseEventBus()
    ) -> PulseClient {
        var configuration = configuration
        configuration.retryPolicy = retry ?? configuration.retryPolicy
        configuration.clock = clock ?? configuration.clock
        return PulseClient(configuration: configuration, plugins: plugins, transport: transport, events: events)
    }

    /// A client over a mock.
    package static func client(
        _ configuration: PulseConfiguration = .test(), plugins: [any PulsePlugin] = [], retry: RetryPolicy? = nil,
        clock: (any PulseClock)? = nil, events: PulseEventBus = PulseEventBus(),
        _ respond: @escaping @Sendable (URLRequest) async throws -> PulseResponse
    ) -> PulseClient {
        client(
            configuration, plugins: plugins, retry: retry, clock: clock, over: MockTransport(respond), events: events)
    }

    /// A client of a server in this process, with which it is patient; by default over the platform's transport.
    package static func client(
        of server: MockServer, plugins: [any PulsePlugin] = [], retry: RetryPolicy = .none,
        clock: any PulseClock = .system, over transport: (any Transport)? = nil,
        events: PulseEventBus = PulseEventBus(), with change: (inout PulseConfiguration) -> Void = { _ in }
    ) -> PulseClient {
        var configuration = PulseConfiguration.patient(with: server)
        (configuration.retryPolicy, configuration.clock) = (retry, clock)
        change(&configuration)
        return PulseClient(configuration: configuration, plugins: plugins, transport: transport, events: events)
    }

    /// Runs `body` with a client and its server, and shuts both down afterwards, whatever the outcome.
    package static func run<Value>(
        plugins: [any PulsePlugin] = [], retry: RetryPolicy = .none, clock: any PulseClock = .system,
        over transport: (any Transport)? = nil, events: PulseEventBus = PulseEventBus(),
        with change: (inout PulseConfiguration) -> Void = { _ in },
        isolation: isolated (any Actor)? = #isolation, _ body: (PulseClient, MockServer) async throws -> Value
    ) async throws -> Value {
        try await MockServer.run { server in
            let client = client(
                of: server, plugins: plugins, retry: retry, clock: clock, over: transport, events: events,
                with: change)
            do {
                let value = try await body(client, server)
                await client.shutdown()
                return value
            } catch {
                await client.shutdown()
                throw error
            }
        }
    }
}

extension Transport where Self == MockTransport {
    /// Responds to every request in the same way.
    package static func responding(
        _ status: Int = 200, headers: HTTPHeaders = [:], data: Data = User.json
    ) -> MockTransport {
        MockTransport { PulseResponse(statusCode: status, headers: headers, data: data, request: $0) }
    }
}

extension PulseEventBus {
    package convenience init(sink: any EventSink) {
        self.init()
        addSink(sink)
    }
}

extension RetryPolicy {
    /// Attempts without a wait between them.
    package static func immediate(_ maxAttempts: Int = 3) -> RetryPolicy {
        RetryPolicy(maxAttempts: maxAttempts, backoffStrategy: .immediate)
    }
}
