// SPDX-License-Identifier: MIT

public import PulseCore
public import PulseTesting

/// The contract of a ``PulseCore/Transport``, as a list of cases that every transport runs.
///
/// With Swift Testing, one parameterized test is enough:
///
/// ```swift
/// static let conformance = TransportConformance("MyTransport") { maxConnectionsPerHost in
///     MyTransport(maxConnectionsPerHost: maxConnectionsPerHost)
/// }
///
/// @Test(arguments: conformance.cases)
/// func keeps(_ promise: TransportConformance.Case) async throws {
///     if case .excluded(let reason) = try await Self.conformance.run(promise) { … }
/// }
/// ```
///
/// ``report()`` runs all of them for other test frameworks. A transport excludes unsupported cases by their names, with
/// a reason; an excluded case is not run, and is reported as excluded.
public struct TransportConformance: Sendable {
    /// The result of ``run(_:)`` for a case that did not fail.
    public enum Outcome: Sendable, Hashable {
        /// The transport kept the promise.
        case passed
        /// The case was not run, for this reason.
        case excluded(reason: String)
    }

    /// The transport's name, for reports.
    public let transport: String
    /// The reason for each excluded case, by the name of the case.
    public let exclusions: [String: String]
    /// The time limit of a case in seconds; 10 by default.
    public let timeLimit: TimeInterval

    private let environment: Environment

    private enum Environment: Sendable {
        case sockets(MockServer.Configuration, @Sendable (Int) -> any Transport)
        #if os(Linux)
        case http2(@Sendable (Int) -> any Transport)
        #endif
        case simulation(@Sendable (@escaping SimulatedServer.Responder) -> any Transport)
    }

    /// The whole list for a transport with sockets. Each case gets its own transport and ``MockServer``.
    ///
    /// - Parameters:
    ///   - tls: the TLS identity of the servers, which all requests trust through ``PulseCore/TransportRequest/tls``;
    ///     nil, the default, for servers without TLS.
    ///   - makeTransport: creates a transport with a maximum number of connections per host.
    public init(
        _ transport: String, exclusions: [String: String] = [:], timeLimit: TimeInterval = 10,
        tls: MockServer.TLSIdentity? = nil,
        makeTransport: @escaping @Sendable (_ maxConnectionsPerHost: Int) -> any Transport
    ) {
        self.transport = transport
        self.exclusions = exclusions
        self.timeLimit = timeLimit
        environment = .sockets(MockServer.Configuration(tls: tls), makeTransport)
    }

    #if os(Linux)
    /// The whole list over HTTP/2, with an ``HTTP2Front`` in front of the ``MockServer`` of each case.
    package init(
        overHTTP2 transport: String, exclusions: [String: String], timeLimit: TimeInterval,
        makeTransport: @escaping @Sendable (_ maxConnectionsPerHost: Int) -> any Transport
    ) {
        self.transport = transport
        self.exclusions = exclusions
        self.timeLimit = timeLimit
        environment = .http2(makeTransport)
    }
    #endif

    /// The semantics part for a transport without sockets.
    ///
    /// - Parameter makeTransport: gets the function that simulates the server. It takes a request in its final form,
    ///   with its body in `httpBody`, and returns the response, throws, or waits until it is cancelled.
    public init(
        simulated transport: String, exclusions: [String: String] = [:], timeLimit: TimeInterval = 10,
        makeTransport:
            @escaping @Sendable (
                _ respond: @escaping @Sendable (URLRequest) async throws -> PulseResponse
            ) -> any Transport
    ) {
        self.transport = transport
        self.exclusions = exclusions
        self.timeLimit = timeLimit
        environment = .simulation(makeTransport)
    }

    /// All cases for this transport, including the excluded ones. An exclusion that names no case is appended as a case
    /// that fails.
    public var cases: [Case] {
        let promises = isSimulated ? Self.semantics : Self.semantics + Self.wire + Self.tls
        let unknown = Set(exclusions.keys).subtracting(promises.map(\.name)).sorted()
        return promises + unknown.map(Case.unknownExclusion)
    }

    /// Whether the transport has no sockets and runs only the semantics part.
    public var isSimulated: Bool {
        if case .simulation = environment { true } else { false }
    }

    /// Runs one case against a new transport, which it shuts down afterwards. Throws ``TransportConformance/Failure``
    /// if the transport breaks the promise.
    @discardableResult
    public func run(_ promise: Case) async throws -> Outcome {
        if let reason = exclusions[promise.name], !promise.isUnknownExclusion { return .excluded(reason: reason) }
        do {
            return try await perform(promise)
        } catch let missing as Check.Unavailable {
            return .excluded(reason: missing.reason)
        } catch let failure as Check.Failure {
            throw Failure(promise: promise.name, transport: transport, reason: failure.reason)
        } catch {
            throw Failure(promise: promise.name, transport: transport, reason: "unexpected error: \(error)")
        }
    }

    private func perform(_ promise: Case) async throws -> Outcome {
        switch environment {
        case .sockets(let configuration, let makeTransport):
            return try await perform(promise, over: makeTransport(promise.maxConnectionsPerHost)) {
                let server = try await MockServer.start(configuration)
                return Scene(
                    server: server, baseURL: server.baseURL, tls: configuration.tls?.clientSettings ?? .default,
                    close: { await server.shutdown() })
            }
        #if os(Linux)
        case .http2(let makeTransport):
            return try await perform(
                promise, over: makeTransport(promise.maxConnectionsPerHost), Self.openHTTP2)
        #endif
        case .simulation(let makeTransport):
            let server = SimulatedServer(promise.respond)
            let stage = ConformanceStage(
                transport: makeTransport { try await server.respond(to: $0) }, server: server.log,
                baseURL: SimulatedServer.baseURL)
            try await perform(promise, on: stage) { server.log.finish() }
            return .passed
        }
    }

    /// A server for one case, and how it is reached and closed.
    private struct Scene: Sendable {
        let server: MockServer
        let baseURL: URL
        let tls: TLSSettings
        let close: @Sendable () async -> Void
    }

    #if os(Linux)
    private static func openHTTP2() async throws -> Scene {
        let server = try await MockServer.start()
        do {
            let identity = try MockServer.TLSIdentity.generated()
            let front = try HTTP2Front.start(identity, before: server)
            return Scene(server: server, baseURL: front.baseURL, tls: identity.clientSettings) {
                await front.shutdown()
                await server.shutdown()
            }
        } catch let error as PulseError where error.kind == .unsupported {
            await server.shutdown()
            throw Check.Unavailable(reason: "\(error)")
        } catch {
            await server.shutdown()
            throw error
        }
    }
    #endif

    private func perform(
        _ promise: Case, over transport: any Transport, _ open: () async throws -> Scene
    ) async throws -> Outcome {
        guard transport.capabilities.isSuperset(of: promise.requiredCapabilities) else {
            await transport.shutdown()
            return .excluded(reason: "the transport's capabilities do not include what the case needs")
        }
        let scene: Scene
        do {
            scene = try await open()
        } catch {
            await transport.shutdown()
            throw error
        }
        scene.server.fallback(promise.respond)
        let stage = ConformanceStage(
            transport: transport, server: scene.server, baseURL: scene.baseURL, tls: scene.tls)
        try await perform(promise, on: stage, close: scene.close)
        return .passed
    }

    /// Closes the stage whatever the outcome. If the time is up, it closes the server at once, because that ends the
    /// call in which the transport may hang.
    private func perform(
        _ promise: Case, on stage: ConformanceStage, close: @escaping @Sendable () async -> Void
    ) async throws {
        do {
            try await TimeLimit.run(seconds: timeLimit) {
                do {
                    try await promise.verify(stage)
                    await stage.transport.shutdown()
                } catch {
                    await stage.transport.shutdown()
                    throw error
                }
            }
            await close()
        } catch {
            await close()
            throw error
        }
    }
}
