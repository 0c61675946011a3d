// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// What is resent and what is not, as counted by a real server.
@Suite(.tags(.threads), .throttled)
struct RetryWireTests {
    enum Engine: String, Sendable, CaseIterable, CustomTestStringConvertible {
        case standard, urlSession

        var testDescription: String { rawValue }

        /// Nil where the transport is unavailable on this system.
        var transport: (any Transport)? {
            switch self {
            case .urlSession: return URLSessionTransport()
            case .standard:
                #if canImport(Glibc) || canImport(Musl)
                return StandardTransport()
                #else
                return nil
                #endif
            }
        }

        func endsTheProcess(at fault: WireFault) -> Bool {
            #if canImport(FoundationNetworking)
            return self == .urlSession && fault.cutsTheHead
            #else
            return false
            #endif
        }
    }

    /// Retries eagerly: only the rule on methods and keys prevents a retry.
    private static let eager = RetryPolicy(
        maxAttempts: 4, backoffStrategy: .immediate, retryableStatusCodes: Set(400..<600))

    private struct Warm: Endpoint {
        typealias Response = Data
        let path = "/warm"
        let method = HTTPMethod.get
    }

    private struct Make: Endpoint {
        typealias Response = Data
        let path = "/make"
        let method = HTTPMethod.post
        var body = RequestBody.data(Data("0123456789".utf8), contentType: "text/plain")
        var options = RequestOptions()
    }

    /// Waits for a response: after a fault an engine may find stray bytes on a connection and take them for one.
    private static func warm(_ client: PulseClient) async throws {
        var result: Result<Data, PulseError> = .failure(.cancelled)
        // The last timeout suffices for a busy machine.
        for timeout: TimeInterval in [1, 1, 1, 600] {
            result = await client.result(of: Warm(), options: RequestOptions().with(\.timeout, value: timeout))
            if case .success = result { return }
        }
        _ = try result.get()
    }

    /// How often a POST reached the server despite the fault.
    private func arrivals(
        _ fault: WireFault, _ engine: Engine, onReusedConnection isReused: Bool, key: String? = nil,
        plugins: [any PulsePlugin] = []
    ) async throws -> Int {
        guard let transport = engine.transport, !engine.endsTheProcess(at: fault) else { return 1 }
        return try await MockServer.run { server in
            let isWarm = Locked(false)
            if !isReused {
                server.onAccept { $0 == 0 ? fault.beforeRequest : [] }
            }
            server.on(.get, "/warm") { _ in
                let last = isReused && !isWarm.withLock { $0 } ? fault.beforeRequest : []
                return last.reduce(.text("warm")) { $0.fault($1, at: .end) }
            }
            server.on(.post, "/make", reading: fault.reading) { _ in fault.response }
            let client = ClientStage.client(of: server, plugins: plugins, retry: Self.eager, over: transport)
            if isReused {
                try await Self.warm(client)
                isWarm.withLock { $0 = true }
            }
            var options = RequestOptions().with(\.timeout, value: fault.idleTimeout)
            options.idempotencyKey = key.map { .value($0) }
            _ = await client.result(of: Make(options: options))
            // A resent request would have arrived before this one.
            try await Self.warm(client)
            let activity = server.activity
            await client.shutdown()
            await transport.shutdown()
            let posts = (activity.requests + activity.incompleteRequests).filter { $0.method == .post }
            // URLSession does not reveal which connection it uses.
            if isReused, engine == .standard, fault.beforeRequest.isEmpty {
                #expect(posts.first.map { $0.indexOnConnection > 0 } ?? true, "the connection is reused")
            }
            return posts.count
        }
    }

    @Test(.serialized, arguments: Engine.allCases, [false, true])
    func aPOSTWithoutAKeyIsNeverSentTwice(engine: Engine, isReused: Bool) async throws {
        // The README names the number.
        #expect(WireFault.all.count == 53)
        try await withEach(WireFault.all) { fault in
            let count = try await arrivals(fault, engine, onReusedConnection: isReused)
            #expect(count <= 1, "\(fault.testDescription)")
        }
    }

    @Test(.serialized, arguments: Engine.allCases)
    func aPOSTWithoutAKeyIsNeverSentTwiceByAPluginThatAlwaysRetries(engine: Engine) async throws {
        try await withEach(WireFault.all.filter { $0.idleTimeout > 0.5 }) { fault in
            let plugin = RetryPlugin(maxAttempts: 4, strategy: .immediate) { _ in true }
            let count = try await arrivals(fault, engine, onReusedConnection: true, plugins: [plugin])
            #expect(count <= 1, "\(fault.testDescription)")
        }
    }

    /// Runs a few at once: most wait for a timeout.
    private func withEach(
        _ faults: [WireFault], _ body: @escaping @Sendable (WireFault) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, fault) in faults.enumerated() {
                if index >= 8 { try await group.next() }
                group.addTask { try await body(fault) }
            }
            try await group.waitForAll()
        }
    }

    /// A POST without a key. Its body produces a part and, once the server has the head, the result of `rest`. A plugin
    /// retries every failure. Nil where the transport is unavailable.
    private func post(
        length: Int64? = nil, rest: @escaping @Sendable () throws -> Data?
    ) async throws -> (failure: PulseError, bodies: Int, arrivals: Int)? {
        guard let transport = Engine.standard.transport else { return nil }
        return try await MockServer.run { server in
            server.on(.post, "/make") { _ in .text("made") }
            let client = ClientStage.client(
                of: server, plugins: [RetryPlugin(maxAttempts: 4, strategy: .immediate) { _ in true }], retry: .default,
                over: transport)
            let bodies = Locked(0)
            let body = RequestBody.stream(length: length) {
                bodies.withLock { $0 += 1 }
                let parts = Locked([Data("part".utf8)])
                return ByteStream(next: {
                    if let part = parts.withLock({ $0.popLast() }) { return part }
                    try await server.wait { !$0.incompleteRequests.isEmpty }
                    return try rest()
                })
            }
            let failure = await #expect(throws: PulseError.self) { try await client.request(Make(body: body)) }
            let activity = server.activity
            await client.shutdown()
            await transport.shutdown()
            let posts = (activity.requests + activity.incompleteRequests).filter { $0.method == .post }
            return (try #require(failure), bodies.withLock { $0 }, posts.count)
        }
    }

    /// Its error concerns the source, and part of the request was sent.
    @Test(
        arguments: [
            URLError(.notConnectedToInternet), URLError(.cannotConnectToHost), PulseError.noConnection,
            PulseError.circuitOpen(name: "source", retryAfter: 0), PulseError.invalidRequest(reason: "source"),
        ] as [any Error])
    func aPOSTWhoseBodySourceFailsIsNotResent(error: any Error) async throws {
        guard let (failure, bodies, arrivals) = try await post(rest: { throw error }) else { return }
        #expect(bodies == 1)
        #expect(arrivals == 1)
        #expect(failure.phase == .maybeSent)
    }

    @Test(arguments: [5, 100] as [Int64])
    func aPOSTWhoseBodyDiffersFromItsDeclaredLengthIsNotResent(length: Int64) async throws {
        let rest = length < 8 ? Data("part".utf8) : nil
        guard let (failure, bodies, arrivals) = try await post(length: length, rest: { rest }) else { return }
        #expect(bodies == 1)
        #expect(arrivals == 1)
        #expect(failure.phase == .maybeSent)
        #expect("\(failure)".contains("the body's length differs from the declared one"))
    }

    /// A positive control for the counts above.
    @Test(arguments: Engine.allCases)
    func aPOSTWithAKeyIsResent(engine: Engine) async throws {
        guard engine.transport != nil else { return }
        var fault = WireFault("close")
        fault.response = .disconnect
        // Foundation detects some ends only by its timeout. On a busy machine a short one expires before a request arrives.
        let timeouts: [TimeInterval] = engine == .urlSession ? [1, 4, 16] : [60]
        for isReused in [false, true] {
            var count = 0
            for timeout in timeouts where count < 4 {
                fault.idleTimeout = timeout
                count = try await arrivals(fault, engine, onReusedConnection: isReused, key: "k")
            }
            #expect(count >= 4)
        }
    }

    @Test(arguments: Engine.allCases)
    func anUnsentRequestIsRetriedWithAnyMethod(engine: Engine) async throws {
        guard let transport = engine.transport else { return }
        // A port that the system never assigns dynamically.
        let closed = try #require(URL(string: "http://127.0.0.1:1"))
        let retries = RetryCount()
        let client = ClientStage.client(
            PulseConfiguration(baseURL: closed), retry: Self.eager, over: transport,
            events: PulseEventBus(sink: retries))
        let result = await client.result(of: Make())
        guard case .failure(.transport(.cannotConnectToHost, _)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(retries.count == 3)
        await client.shutdown()
        await transport.shutdown()
    }
}

/// Counts the retries that a client reports.
private final class RetryCount: EventSink {
    private let retries = Locked(0)

    var isActive: Bool { true }
    var count: Int { retries.withLock { $0 } }

    func emit(_ event: NetworkEvent) {
        if case .requestRetrying = event { retries.withLock { $0 += 1 } }
    }
}
