// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulseObservability
import PulsePlugins
import PulseStorage
import PulseTesting
import TestSupport
import Testing

/// Options that require a part which the client lacks.
@Suite(.throttled)
struct OptionPartsTests {
    private typealias Case = (name: String, set: @Sendable (inout RequestOptions) -> Void, part: (any PulsePlugin)?)

    private static let cases: [Case] = [
        ("cache", { $0.cache = .cacheElseNetwork }, .cache(ttl: 60)),
        ("cache", { $0.cache = .reload }, .cache(ttl: 60)),
        ("cache", { $0.cache = .staleWhileRevalidate }, .cache(ttl: 60)),
        ("cache", { $0.cache = .revalidate }, .cache(ttl: 60)),
        ("coalesces", { $0.coalesces = true }, .coalescing()),
        ("queuesBehindPending", { $0.queuesBehindPending = true }, nil),
    ]

    #if !canImport(Darwin)
    private static let appleCases: [Case] = [
        ("allowsExpensiveNetworkAccess", { $0.allowsExpensiveNetworkAccess = false }, nil),
        ("allowsConstrainedNetworkAccess", { $0.allowsConstrainedNetworkAccess = false }, nil),
        ("assumesHTTP3Capable", { $0.assumesHTTP3Capable = true }, nil),
        ("networkServiceType", { $0.networkServiceType = .background }, nil),
    ]
    #else
    private static let appleCases: [Case] = []
    #endif

    private func warnings(_ sink: RecordingSink) -> [String] {
        sink.events.compactMap { if case .warning(let text) = $0 { text } else { nil } }
    }

    @Test func theTypeOfTrafficReachesTheTransport() async throws {
        let (client, transport) = PulseClient.responding()
        let options = RequestOptions().with(\.networkServiceType, value: .background)
        _ = try await client.request(GetUser(options: options))
        _ = try await client.request(GetUser())
        #expect(transport.requests.map(\.networkServiceType) == [.background, .default])
    }

    @Test(arguments: (cases + appleCases).indices)
    func anOptionWithoutItsPartCausesOneWarningPerClient(index: Int) async throws {
        let (name, set, part) = (Self.cases + Self.appleCases)[index]
        var options = RequestOptions()
        set(&options)
        for _ in 0..<2 {
            let (bus, sink) = (PulseEventBus(), RecordingSink())
            bus.addSink(sink)
            let (client, transport) = PulseClient.responding(events: bus)
            for _ in 0..<2 { _ = try await client.request(GetUser(), options: options) }
            _ = try await client.request(GetUser(options: options))
            _ = try await client.rawRequest(URLRequest.mock(), options: options)
            #expect(transport.requests.count == 4)
            #expect(warnings(sink).count == 1)
            #expect(warnings(sink).first?.contains("`\(name)`") == true)
        }
        guard let part else { return }
        let (bus, sink) = (PulseEventBus(), RecordingSink())
        bus.addSink(sink)
        let (client, _) = PulseClient.responding(plugins: [part], events: bus)
        _ = try await client.request(GetUser(), options: options)
        _ = try await PulseClient.responding(events: bus).client.request(GetUser(options: options, plugins: [part]))
        #expect(warnings(sink).isEmpty)
        await client.shutdown()
    }

    @Test func aWarningWithoutListenersIsRepeatedLater() async throws {
        let (bus, sink) = (PulseEventBus(), RecordingSink())
        let (client, _) = PulseClient.responding(events: bus)
        let options = RequestOptions().with(\.cache, value: .cacheElseNetwork)
        _ = try await client.request(GetUser(), options: options)
        bus.addSink(sink)
        _ = try await client.request(GetUser(), options: options)
        #expect(warnings(sink).count == 1)
    }

    /// Options that every client supports, and default values.
    @Test func anOptionThatNeedsNoPluginCausesNoWarning() async throws {
        let (bus, sink) = (PulseEventBus(), RecordingSink())
        bus.addSink(sink)
        let (client, _) = PulseClient.responding(events: bus)
        var options = RequestOptions()
        options.headers = ["X-A": "1"]
        options.timeout = 5
        options.connectTimeout = 5
        options.deadline = 60
        options.retry = .never
        options.auth = .anonymous
        options.cache = .default
        options.coalesces = false
        options.idempotencyKey = .automatic
        options.tag = "t"
        options.route = "r"
        options.priority = .high
        options.acceptedStatuses = .any
        options.decoder = .json
        options.encoder = .json
        options.redirectPolicy = .refuse
        options.maxBufferedBodySize = 1 << 20
        options.queuesBehindPending = false
        options.waitsForConnectivity = true
        _ = try await client.request(GetUser(), options: options)
        options.auth = .optional
        _ = try await client.request(GetUser(), options: options)
        #expect(warnings(sink).isEmpty)
    }

    @Test func aCustomRetryPluginCausesAWarningAboutConnectivity() async throws {
        let (bus, sink) = (PulseEventBus(), RecordingSink())
        bus.addSink(sink)
        let own = ClosurePlugin(scope: .retry) { request, _, next in try await next(request) }
        let (client, _) = PulseClient.responding(plugins: [own], events: bus)
        let options = RequestOptions().with(\.waitsForConnectivity, value: true)
        _ = try await client.request(GetUser(), options: options)
        #expect(warnings(sink).map { $0.contains("`waitsForConnectivity`") } == [true])
        _ = try await PulseClient.responding(plugins: [.retry()], events: bus).client.request(
            GetUser(), options: options)
        #expect(warnings(sink).count == 1)
    }

    @Test func aConnectTimeoutOverURLSessionCausesAWarning() async throws {
        let (bus, sink) = (PulseEventBus(), RecordingSink())
        bus.addSink(sink)
        try await MockServer.run { server in
            server.fallback { _ in .text("x") }
            let transport = URLSessionTransport()
            let client = PulseClient(baseURL: server.baseURL, transport: transport, events: bus)
            _ = try await client.get("/a", as: String.self)
            #expect(warnings(sink).isEmpty)
            _ = try await client.get("/a", as: String.self, options: .init().with(\.connectTimeout, value: 5))
            #expect(warnings(sink).map { $0.contains("`connectTimeout`") } == [true])
            await client.shutdown()
            await transport.shutdown()
        }
    }

    /// It would overtake the calls that it has to follow.
    @Test func anUnsafeCallThatCannotJoinTheQueueFails() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let (bus, sink) = (PulseEventBus(), RecordingSink())
        bus.addSink(sink)
        let (client, transport) = PulseClient.responding(
            .test().with(\.offlineQueuePolicy, value: OfflineQueuePolicy(directory: directory))
                .with(\.connectivity, value: .manual()), events: bus)
        let options = RequestOptions().with(\.queuesBehindPending, value: true)
        let error = await #expect(throws: PulseError.self) {
            try await client.request(GetUser(method: .post), options: options)
        }
        #expect(error?.kind == .invalidRequest)
        #expect(transport.requests.isEmpty && warnings(sink).isEmpty)
        _ = try await client.request(GetUser(), options: options)
        #expect(warnings(sink).count == 1)
        await client.shutdown()
    }
}
