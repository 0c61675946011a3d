// SPDX-License-Identifier: MIT

public import PulseCore
public import PulseObservability
import PulseStorage

/// Sends endpoints and gives typed results.
///
/// Make one client for each server, keep it as long as the app needs it, and share it freely: every method may be
/// called from any thread. ``shutdown()`` ends what is under way and frees the transport.
public final class PulseClient: Sendable {
    /// The settings that the client was made with.
    public let configuration: PulseConfiguration

    let environment: CallEnvironment
    let builder: RequestBuilder
    let follower: RedirectFollower
    let calls = CallRegistry()
    let deadlines: DeadlineHeap
    /// The chain of every call whose endpoint and options change nothing about it.
    let pipeline: PluginPipeline
    /// Nil if it is disabled.
    let offline: OfflineQueue?
    /// The base URL's, for events.
    let host: String
    /// What the configuration says of each call; of a call that sets nothing itself, these are the options.
    let defaults: RequestOptions
    private let plugins: [any PulsePlugin]
    private let transport: any Transport
    private let wire: Wire
    private let ownsTransport: Bool
    /// Whether the transport counts connecting as idle time.
    let hasNoConnectTimeout: Bool
    #if DEBUG
    let endpointCheck: EndpointCheck
    #endif

    /// Makes a client. Nothing is started before the first call, unless the offline queue has something to send, or to
    /// clear away after a crash.
    ///
    /// Emits a ``NetworkEvent/warning(_:)`` for each questionable setting. A base URL that is no http or https URL is
    /// also written to the log, whatever the log level.
    ///
    /// - Parameter plugins: in the caller's order within each ``PluginScope``, outermost first.
    /// - Parameter transport: belongs to the caller; without one the client makes the platform's and shuts it down.
    /// - Parameter events: where the client tells what happens to its calls; by default the bus that clients share.
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
        let standard: StandardTransport?
        if let transport {
            self.transport = transport
            standard = nil
        } else {
            let own = StandardTransport(configuration)
            self.transport = own.transport
            standard = own
        }
        ownsTransport = transport == nil
        hasNoConnectTimeout = self.transport is URLSessionTransport
        let sink: any EventSink =
            configuration.logLevel == .none ? events : LevelLogger(configuration.logLevel, bus: events)
        environment = CallEnvironment(
            clock: configuration.clock,
            randomness: configuration.randomness,
            events: sink,
            home: Set(
                ([configuration.baseURL].compactMap { $0 } + configuration.trustedOrigins).compactMap { Origin($0) }),
            secretHeaders: configuration.secretHeaders,
            defaultHeaders: configuration.headersOfEveryRequest.accepting("*/*"),
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
        for problem in configuration.problems(with: self.transport.capabilities, in: environment) where sink.isActive {
            sink.emit(.warning(problem))
        }
        standard?.warn(sink)
        offline?.start { [weak self] replay in
            await self?.replay(replay) ?? ReplayOutcome(result: .failure(.cancelled))
        }
    }

    /// Makes a client for the server at that URL, with the default settings.
    ///
    /// The parameters are as in ``init(configuration:plugins:transport:events:)``.
    public convenience init(
        baseURL: URL,
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

    /// Cancels every call under way; each ends with ``PulseError/cancelled``. Later calls are not affected.
    public func cancelAll() {
        calls.cancelAll()
    }

    /// Cancels the calls under way whose options have that tag; each ends with ``PulseError/cancelled``.
    public func cancelAll(tag: String) {
        calls.cancelAll(tag: tag)
    }

    /// Cancels what is under way, waits for it to end, and shuts down the plugins, and the transport if the client made
    /// it. A later call throws ``PulseError/cancelled`` and sends nothing.
    ///
    /// Do not await it inside a call of this client (in a plugin, say): it would wait for itself.
    public func shutdown() async {
        await calls.shutdown()
        await offline?.close()
        deadlines.shutdown()
        for plugin in plugins {
            await plugin.shutdown()
        }
        if ownsTransport { await transport.shutdown() }
    }

    /// The chain of a call, with its endpoint's plugins and its own retry policy, if it has any.
    func pipeline(for plugins: [any PulsePlugin], _ options: RequestOptions) -> PluginPipeline {
        guard !plugins.isEmpty || options.retry != nil else { return pipeline }
        return self.pipeline(for: plugins, retry: options.retry, wire: pipeline.wire)
    }

    /// The client's and an endpoint's plugins around another wire, or those of them that are chosen.
    func pipeline(
        for plugins: [any PulsePlugin], retry: RetryPolicy?, where isChosen: (any PulsePlugin) -> Bool = { _ in true },
        wire: @escaping PluginChain.Wire
    ) -> PluginPipeline {
        PluginPipeline(
            client: self.plugins.filter(isChosen), endpoint: plugins.filter(isChosen), retry: retry,
            configured: configuration.retryPolicy, wire: wire)
    }
}

extension PulseConfiguration {
    /// What a developer should know about these settings.
    fileprivate func problems(
        with capabilities: TransportCapabilities, in environment: CallEnvironment
    ) -> [String] {
        let refused = [
            sslPinningPolicy != .disabled && !capabilities.contains(.pinning) ? "pinned public keys" : nil,
            tls != .default && !capabilities.contains(.tls) ? "TLS settings" : nil,
            proxy != .environment && !capabilities.contains(.proxy) ? "proxy settings" : nil,
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
    /// Fills the nil fields in from the configuration; `retry` stays, since a retry plugin may stand between the two.
    ///
    /// - Parameter idleTimeout: the endpoint's own; 0 takes the client's.
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
        deadline = configuration.deadline
        acceptedStatuses = .successful
        redirectPolicy = configuration.redirectPolicy
        maximumBufferedBodySize = configuration.maximumBufferedBodySize
        decoder = configuration.decoder
        encoder = configuration.encoder
        auth = .optional
        cache = .default
        priority = .normal
    }
}

extension PulseClient {
    private static let sharedDefault = Locked<PulseClient?>(nil)

    /// The client for code that is not handed one. Set it once, at start-up, before anything reads it; a later value is
    /// ignored with a ``NetworkEvent/warning(_:)``. Unset, it is a client without a base URL. Safe from any thread.
    public static var `default`: PulseClient {
        get {
            if let shared = sharedDefault.withLock({ $0 }) { return shared }
            // Made outside the lock: it may warn, and a listener may ask for this very client.
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
    /// Its configuration, which shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["configuration": configuration]) }
}
