// SPDX-License-Identifier: MIT

public import PulseCore
public import PulseObservability
import PulsePlatform
import PulseStorage

/// Sends endpoints and returns typed results.
///
/// ```swift
/// let client = PulseClient(baseURL: "https://api.example.com/v1")
/// let user: User = try await client.get("/users/42")
/// await client.shutdown()
/// ```
///
/// Create one client for each server, keep it as long as the app needs it, and share it freely: every method may be
/// called from any thread. ``shutdown(grace:)-(TimeInterval)`` ends the calls in progress and frees the transport.
public final class PulseClient: Sendable {
    /// The settings that the client was created with.
    public let configuration: PulseConfiguration

    package let environment: CallEnvironment
    let builder: RequestBuilder
    let follower: RedirectFollower
    package let calls = CallRegistry()
    package let deadlines: DeadlineHeap
    /// The chain for calls whose endpoint and options do not change it.
    let pipeline: PluginPipeline
    /// The offline queue; nil if it is disabled.
    let offline: OfflineQueue?
    /// The host of the base URL, for events.
    let host: String
    /// The configuration's options for each call; a call without its own options uses them unchanged.
    let defaults: RequestOptions
    private let plugins: [any PulsePlugin]
    private let transport: any Transport
    private let wire: Wire
    private let ownsTransport: Bool
    /// The capabilities of the transport.
    package let capabilities: TransportCapabilities
    /// The state of the features for this client.
    package let features = ClientFeatures()
    #if DEBUG
    package let endpointCheck: EndpointCheck
    #endif

    /// Creates a client. It starts no work before the first call, unless the offline queue has entries to send or
    /// leftovers of a crash to clean up.
    ///
    /// Emits a ``NetworkEvent/warning(_:)`` for each questionable setting. If the base URL is not an http or https URL,
    /// that warning is also written to the log, at every log level.
    ///
    /// - Parameter plugins: the plugins, outermost first. Each ``PluginScope`` keeps the caller's order.
    /// - Parameter transport: a transport that the caller owns and shuts down. By default the client creates the
    ///   platform's transport and shuts it down itself.
    /// - Parameter events: the bus for the events of the client's calls; by default the shared bus of all clients.
    public init(
        configuration: PulseConfiguration,
        plugins: [any PulsePlugin] = [],
        transport: (any Transport)? = nil,
        events: PulseEventBus = .shared
    ) {
        self.configuration = configuration
        self.plugins = plugins
        host = configuration.baseURL?.host ?? ""
        defaults = RequestOptions(configuration)
        self.transport = transport ?? StandardTransport(configuration).base
        ownsTransport = transport == nil
        capabilities = self.transport.capabilities
        let sink: any EventSink =
            configuration.logLevel == .none ? events : LevelLogger(configuration.logLevel, bus: events)
        environment = CallEnvironment(
            configuration, events: sink, clock: configuration.clock,
            connectivity: configuration.connectivity ?? SystemConnectivityMonitor.shared)
        builder = RequestBuilder(configuration, environment: environment)
        follower = RedirectFollower(configuration, environment: environment)
        deadlines = DeadlineHeap(clock: configuration.clock)
        wire = Wire(self.transport, configuration, environment: environment, calls: calls)
        pipeline = PluginPipeline(
            client: plugins, retry: nil, configured: configuration.retryPolicy
        ) { [wire] in
            try await wire.send($0, for: $1, plugins: $2)
        }
        offline = Self.offlineQueue(configuration, environment)
        if let fault = URLComposer.fault(of: configuration.baseURL) {
            if configuration.logLevel < .warning {
                LevelLogger.systemLog(Redaction.standard.text(fault).onOneLine, .warning)
            }
            if sink.isActive { sink.emit(.warning(fault)) }
        }
        #if DEBUG
        endpointCheck = EndpointCheck(environment)
        for plugin in plugins { endpointCheck.check(plugin) }
        #endif
        for problem in configuration.problems(with: capabilities, in: environment) where sink.isActive {
            sink.emit(.warning(problem))
        }
        offline?.start { [weak self] replay in
            await self?.replay(replay) ?? ReplayOutcome(result: .failure(.cancelled))
        }
    }

    /// Creates a client for the server at a URL, with the default settings.
    ///
    /// The other parameters are those of ``init(configuration:plugins:transport:events:)``.
    public convenience init(
        baseURL: URL,
        plugins: [any PulsePlugin] = [],
        transport: (any Transport)? = nil,
        events: PulseEventBus = .shared
    ) {
        self.init(
            configuration: PulseConfiguration(baseURL: baseURL), plugins: plugins, transport: transport, events: events)
    }

    /// Creates a client for the server at a URL, `PulseClient(baseURL: "https://api.example.com/v1")`, with the default
    /// settings.
    ///
    /// If the text is not an absolute http or https URL, each call with a relative path throws
    /// ``PulseError/invalidURL(_:)``.
    public convenience init(
        baseURL: String,
        plugins: [any PulsePlugin] = [],
        transport: (any Transport)? = nil,
        events: PulseEventBus = .shared
    ) {
        self.init(
            configuration: PulseConfiguration(baseURL: baseURL), plugins: plugins, transport: transport, events: events)
    }

    deinit {
        offline?.abandon()
    }

    /// Cancels every call in progress; each ends with ``PulseError/cancelled``. Later calls are not affected.
    public func cancelAll() {
        calls.cancelAll()
    }

    /// Cancels the calls in progress whose options have that tag; each ends with ``PulseError/cancelled``.
    public func cancelAll(tag: String) {
        calls.cancelAll(tag: tag)
    }

    /// Cancels the work in progress, waits for it to end, and shuts down the plugins. Also shuts down the transport if
    /// the client created it. A later call throws ``PulseError/cancelled`` and sends nothing.
    ///
    /// With a grace period, as for a server that is being replaced, calls in progress may finish first, including their
    /// retries, redirects, token refresh and streamed bodies. The offline queue finishes the replays in progress and
    /// writes their outcomes to the journal, so that they are not sent again. The shutdown does not wait for work
    /// without an end: sockets, subscriptions, event streams that reconnect, and lists of downloads, which resume at
    /// their next start. Cancelling the waiting task ends the grace period.
    ///
    /// Do not await the shutdown inside a call of this client, for example in a plugin: the two would wait for each
    /// other.
    /// - Parameter grace: the maximum time in seconds, by the client's clock, for calls in progress to finish; 0, the
    ///   default, cancels them at once. A negative number or NaN counts as 0, and infinity has no limit.
    public func shutdown(grace: TimeInterval = 0) async {
        var drain: Task<Void, Never>?
        if grace > 0 { drain = await self.drain(upTo: grace) }
        await calls.shutdown()
        await offline?.close()
        await drain?.value
        deadlines.shutdown()
        for plugin in plugins {
            await plugin.shutdown()
        }
        if ownsTransport { await transport.shutdown() }
    }

    /// Refuses new calls, and waits at most `seconds` for the calls in progress. Returns the task that waits for them;
    /// it ends when they have ended.
    private func drain(upTo seconds: TimeInterval) async -> Task<Void, Never> {
        offline?.beginFinishing()
        calls.beginDraining()
        let end = Promise<Void>()
        let alarm = seconds < .infinity ? deadlines.add(environment.clock.uptime + seconds) { end.fulfill(()) } : nil
        let task = Task { [calls, offline] in
            await offline?.finish()
            await calls.idle()
            end.fulfill(())
        }
        await end.value { end.fulfill(()) }
        if let alarm { deadlines.remove(alarm) }
        return task
    }

    /// The chain of a call, with its endpoint's plugins and its own retry policy, if any.
    package func pipeline(for plugins: [any PulsePlugin], _ options: RequestOptions) -> PluginPipeline {
        guard !plugins.isEmpty || options.retry != nil else { return pipeline }
        return self.pipeline(for: plugins, retry: options.retry, wire: pipeline.wire)
    }

    /// The wire to a transport other than the client's.
    func wire(over substitute: CallShape.Substitute) -> PluginChain.Wire {
        let wire = Wire(
            substitute.transport, configuration, environment: substitute.environment, calls: calls)
        return { try await wire.send($0, for: $1, plugins: $2) }
    }

    /// A chain of the client's and an endpoint's plugins around another wire, filtered by `isChosen`.
    func pipeline(
        for plugins: [any PulsePlugin], retry: RetryPolicy?, where isChosen: (any PulsePlugin) -> Bool = { _ in true },
        wire: @escaping PluginChain.Wire
    ) -> PluginPipeline {
        PluginPipeline(
            client: self.plugins.filter(isChosen), endpoint: plugins.filter(isChosen),
            retry: capabilities.contains(.noRetries) ? .never : retry, configured: configuration.retryPolicy, wire: wire
        )
    }
}

extension CallEnvironment {
    package convenience init(
        _ configuration: PulseConfiguration, events: (any EventSink)?, clock: any PulseClock,
        connectivity: (any ConnectivityMonitor)?
    ) {
        self.init(
            clock: clock,
            randomness: configuration.randomness,
            events: events,
            home: Set(
                ([configuration.baseURL].compactMap { $0 } + configuration.trustedOrigins).compactMap { Origin($0) }),
            secretHeaders: configuration.secretHeaders,
            defaultHeaders: configuration.headersOfEveryRequest.accepting("*/*"),
            defaultQueryItems: configuration.defaultQueryItems,
            connectivity: connectivity)
    }
}

extension PulseConfiguration {
    /// Warnings about questionable settings, for the developer.
    fileprivate func problems(
        with capabilities: TransportCapabilities, in environment: CallEnvironment
    ) -> [String] {
        let refused = [
            sslPinningPolicy != .disabled && !capabilities.contains(.pinning) ? "pinned public keys" : nil,
            tls != .default && !capabilities.contains(.tls) ? "TLS settings" : nil,
            proxy != .environment && !capabilities.contains(.proxy) ? "proxy settings" : nil,
            httpVersions != .automatic && !capabilities.contains(.httpVersions)
                ? "restriction of the HTTP versions" : nil,
        ]
        let texts = capabilities.contains(.simulated) ? [] : refused.compactMap { $0 }
        let astray = environment.home.isEmpty ? defaultHeaders.keys.filter(environment.redaction.isSecret).sorted() : []
        return sslPinningPolicy.problems(now: clock.now)
            + texts.map { "the transport has no \($0): every request that they concern fails as unsupported" }
            + astray.map {
                "without a base URL or trusted origins the default header \($0) goes to every server that a call names"
            }
    }
}

extension PulseClient {
    /// Fills nil options from the configuration. `retry` is not filled: a retry plugin takes precedence over
    /// the configuration's policy.
    ///
    /// - Parameter idleTimeout: the endpoint's idle timeout; 0 means that of the client.
    func resolve(_ options: inout RequestOptions, idleTimeout: TimeInterval) {
        if idleTimeout != 0, options.timeout == nil { options.timeout = idleTimeout }
        options.inherit(defaults)
    }
}

extension RequestOptions {
    fileprivate init(_ configuration: PulseConfiguration) {
        self.init()
        timeout = configuration.timeout
        connectTimeout = configuration.connectTimeout
        poolTimeout = configuration.poolTimeout
        deadline = configuration.deadline
        acceptedStatuses = .successful
        redirectPolicy = configuration.redirectPolicy
        maxBufferedBodySize = configuration.maxBufferedBodySize
        decoder = configuration.decoder
        encoder = configuration.encoder
        auth = .optional
        cache = .default
        priority = .normal
    }
}

extension PulseClient {
    private static let sharedDefault = Locked<PulseClient?>(nil)

    /// The client for code that does not receive one. If unset, it is a client without a base URL.
    ///
    /// Set it once, at start-up, before the first read; a later value is ignored with a ``NetworkEvent/warning(_:)``.
    /// It may be read and set from any thread.
    public static var `default`: PulseClient {
        get {
            if let shared = sharedDefault.withLock({ $0 }) { return shared }
            // Created outside the lock: it may emit a warning, whose listener may read the default client.
            let client = PulseClient(configuration: PulseConfiguration())
            return sharedDefault.withLock { shared in
                let first = shared ?? client
                shared = first
                return first
            }
        }
        set {
            let isTaken = sharedDefault.withLock { shared in
                defer { shared = shared ?? newValue }
                return shared != nil && shared !== newValue
            }
            if isTaken {
                PulseEventBus.shared.emit(
                    .warning("PulseClient.default was set or read before; the new one is ignored"))
            }
        }
    }
}

extension PulseClient: CustomReflectable {
    /// The configuration, which shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: ["configuration": configuration]) }
}
