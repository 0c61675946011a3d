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

    @Test func theTypeOfTrafficReachesTheTransport() async throws {
        let stage = ClientStage()
        let options = RequestOptions().with(\.networkServiceType, value: .background)
        _ = try await stage.client.request(GetUser(options: options))
        _ = try await stage.client.request(GetUser())
        #expect(stage.requests.map(\.networkServiceType) == [.background, .default])
    }

    @Test(arguments: (cases + appleCases).indices)
    func anOptionWithoutItsPartCausesOneWarningPerClient(index: Int) async throws {
        let (name, set, part) = (Self.cases + Self.appleCases)[index]
        var options = RequestOptions()
        set(&options)
        for _ in 0..<2 {
            let stage = ClientStage()
            for _ in 0..<2 { _ = try await stage.client.request(GetUser(), options: options) }
            _ = try await stage.client.request(GetUser(options: options))
            _ = try await stage.client.rawRequest(URLRequest.mock(), options: options)
            #expect(stage.requests.count == 4)
            #expect(stage.sink.warnings.count == 1)
            #expect(stage.sink.warnings.first?.contains("`\(name)`") == true)
        }
        guard let part else { return }
        let (whole, bare) = (ClientStage(plugins: [part]), ClientStage())
        _ = try await whole.client.request(GetUser(), options: options)
        _ = try await bare.client.request(GetUser(options: options, plugins: [part]))
        #expect(whole.sink.warnings.isEmpty && bare.sink.warnings.isEmpty)
        await whole.client.shutdown()
    }

    @Test func aWarningWithoutListenersIsRepeatedLater() async throws {
        let (bus, sink) = (PulseEventBus(), RecordingSink())
        let client = ClientStage.client(events: bus)
        let options = RequestOptions().with(\.cache, value: .cacheElseNetwork)
        _ = try await client.request(GetUser(), options: options)
        bus.addSink(sink)
        _ = try await client.request(GetUser(), options: options)
        #expect(sink.warnings.count == 1)
    }

    /// Options that every client supports, and default values.
    @Test func anOptionThatNeedsNoPluginCausesNoWarning() async throws {
        let stage = ClientStage()
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
        _ = try await stage.client.request(GetUser(), options: options)
        options.auth = .optional
        _ = try await stage.client.request(GetUser(), options: options)
        #expect(stage.sink.warnings.isEmpty)
    }

    @Test func aCustomRetryPluginCausesAWarningAboutConnectivity() async throws {
        let own = ClosurePlugin(scope: .retry) { request, _, next in try await next(request) }
        let (custom, standard) = (ClientStage(plugins: [own]), ClientStage(plugins: [.retry()]))
        let options = RequestOptions().with(\.waitsForConnectivity, value: true)
        _ = try await custom.client.request(GetUser(), options: options)
        #expect(custom.sink.warnings.map { $0.contains("`waitsForConnectivity`") } == [true])
        _ = try await standard.client.request(GetUser(), options: options)
        #expect(standard.sink.warnings.isEmpty)
    }

    @Test func aConnectTimeoutOverURLSessionCausesAWarning() async throws {
        let sink = RecordingSink()
        try await MockServer.run { server in
            server.fallback { _ in .text("x") }
            let transport = URLSessionTransport()
            let client = PulseClient(
                baseURL: server.baseURL, transport: transport, events: PulseEventBus(sink: sink))
            _ = try await client.get("/a", as: String.self)
            #expect(sink.warnings.isEmpty)
            _ = try await client.get("/a", as: String.self, options: .init().with(\.connectTimeout, value: 5))
            #expect(sink.warnings.map { $0.contains("`connectTimeout`") } == [true])
            await client.shutdown()
            await transport.shutdown()
        }
    }

    /// It would overtake the calls that it has to follow.
    @Test func anUnsafeCallThatCannotJoinTheQueueFails() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let stage = ClientStage(
            .test().with(\.offlineQueuePolicy, value: OfflineQueuePolicy(directory: directory))
                .with(\.connectivity, value: .manual()))
        let options = RequestOptions().with(\.queuesBehindPending, value: true)
        let error = await #expect(throws: PulseError.self) {
            try await stage.client.request(GetUser(method: .post), options: options)
        }
        #expect(error?.kind == .invalidRequest)
        #expect(stage.requests.isEmpty && stage.sink.warnings.isEmpty)
        _ = try await stage.client.request(GetUser(), options: options)
        #expect(stage.sink.warnings.count == 1)
        await stage.client.shutdown()
    }
}
