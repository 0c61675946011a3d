// SPDX-License-Identifier: MIT

public import PulseCore

/// A transport over Foundation's `URLSession`: the default on Apple platforms.
///
/// It buffers response bodies up to the request's limit, streams them or writes them to files. It sends bodies of
/// bytes, files and streams. On Apple platforms it enforces pins over the verified chain, TLS settings and proxies, as
/// far as `Docs/Transports.md` lists them; on Linux these throw ``PulseError/unsupported(_:)``. Connecting counts
/// toward the idle timeout, because `URLSession` has no separate timeout for it.
///
/// An upgrade has its own connection of Network.framework, over which the transport itself speaks HTTP/1.1, and its own
/// connect timeout. The session's configuration applies as far as `Docs/Transports.md` lists it.
///
/// On Linux upgrades throw ``PulseError/unsupported(_:)``. The transport streams in neither direction there, since it
/// cannot apply backpressure, and a download request can have no body. A downloaded file is complete before the target
/// is touched, and an error body of more than 1 MiB is empty. `Docs/Conformance.md` lists further limitations of
/// Foundation's implementation on Linux.
///
/// ```swift
/// let transport = URLSessionTransport { $0.allowsCellularAccess = false }
/// let client = PulseClient(configuration: configuration, transport: transport)
/// ```
public final class URLSessionTransport: Transport {
    private let settings: @Sendable () -> URLSessionConfiguration
    /// Effectively no limit on connections to a host: a client has only this many ports.
    private static let portCount = 65_535

    private let slots: ConnectionSlots
    let exchanges: SessionDelegate
    let upgrades: UpgradeConnector?
    /// Whether it streams bodies.
    private let appliesBackpressure: Bool
    /// The shared sessions, created by the first request with these settings.
    private let shared = Locked(LRUCache<SessionSettings, SessionLease>(capacity: 8))

    /// A transport over a `URLSession`, which the first request creates. Caches, cookies and credential stores are off,
    /// since the client handles these.
    ///
    /// - Parameter maxConnectionsPerHost: the maximum number of concurrent requests to one host, 6 by default on
    ///   Apple platforms. Others wait in order, each for at most its ``TransportRequest/poolTimeout``. Streamed
    ///   responses do not count: they have their own session and connections.
    /// - Parameter configure: changes the session's configuration before the session is created. It may be called
    ///   several times, on any thread.
    public convenience init(
        maxConnectionsPerHost: Int = PulseConfiguration().maxConnectionsPerHost,
        configure: (@Sendable (URLSessionConfiguration) -> Void)? = nil
    ) {
        self.init(
            maxConnectionsPerHost: maxConnectionsPerHost, appliesBackpressure: Self.appliesBackpressure,
            configure: configure)
    }

    /// - Parameter appliesBackpressure: whether to stream bodies, which requires that suspending a task applies
    ///   backpressure.
    package convenience init(
        maxConnectionsPerHost: Int, appliesBackpressure: Bool,
        configure: (@Sendable (URLSessionConfiguration) -> Void)? = nil
    ) {
        self.init(
            maxConnectionsPerHost, appliesBackpressure: appliesBackpressure, makeChannel: Self.makeChannel,
            configure: configure)
    }

    /// - Parameter makeChannel: makes the channels of upgrades; nil without any.
    /// - Parameter security: nil where the transport can enforce neither pins nor TLS and proxy settings.
    init(
        _ maxConnectionsPerHost: Int, appliesBackpressure: Bool, makeChannel: UpgradeConnector.ChannelMaker?,
        security: SessionSecurity? = .system,
        configure: (@Sendable (URLSessionConfiguration) -> Void)? = nil
    ) {
        self.appliesBackpressure = appliesBackpressure
        exchanges = SessionDelegate(security)
        slots = ConnectionSlots(limit: maxConnectionsPerHost)
        let settings: @Sendable () -> URLSessionConfiguration = {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpMaximumConnectionsPerHost = max(1, maxConnectionsPerHost)
            configuration.keepNoState()
            configure?(configuration)
            // The client has its own rules for a missing network.
            configuration.disableWaiting()
            return configuration
        }
        self.settings = settings
        upgrades = makeChannel.map { UpgradeConnector(settings: settings, security: security, makeChannel: $0) }
    }

    public var capabilities: TransportCapabilities {
        let policies: TransportCapabilities = exchanges.security == nil ? [] : [.pinning, .tls, .proxy]
        return policies.union(appliesBackpressure ? .noConnectTimeout : [.noConnectTimeout, .noStreams])
    }

    public func send(_ request: TransportRequest) async throws -> PulseResponse {
        try check(request)
        try request.checkHeadSize()
        guard let url = request.urlRequest.url, let origin = Origin(url) else {
            throw PulseError.invalidURL("an http or https URL with a host is needed")
        }
        if case .upgrade = request.delivery, let upgrades {
            return try await upgrades.send(request, url, origin, slots)
        }
        let slot = try await slots.slot(origin, for: request)
        defer { withExtendedLifetime(slot) {} }
        try Task.checkCancellation()
        guard !exchanges.isShutDown else { throw CancellationError() }
        // The session reports no progress of an empty body.
        if try await request.body.isKnownToBeEmpty { request.progress?(TransferProgress(completed: 0, total: 0)) }
        let session = try session(for: request, SessionSettings(request, isSecure: origin.scheme == "https"))
        // The session's end would cancel its task.
        defer { withExtendedLifetime(session) {} }
        let start = SystemClock().uptime
        var response: PulseResponse
        switch request.delivery {
        case .buffered(let limit):
            response = try await exchanges.run(
                task(for: request, in: session.session), for: request, session.credentials,
                session.proxy, into: .memory(limit: limit), progress: request.progress)
        case .file(let file, let offset) where !appliesBackpressure:
            response = try await download(request, to: file, from: offset, in: session)
        case .file, .streamed, .upgrade:
            response = try await stream(request, in: session, holding: slot)
        }
        response.request = request.urlRequest
        response.latency = SystemClock().uptime - start
        return response
    }

    private func check(_ request: TransportRequest) throws {
        if exchanges.security == nil {
            if request.pins != nil { throw Self.unsupported("pinned public keys") }
            if request.tls != .default { throw Self.unsupported("TLS settings") }
            if request.proxy != .environment { throw Self.unsupported("proxies") }
        }
        if request.httpVersions != .automatic, request.delivery != .upgrade {
            throw Self.unsupported("restriction of the HTTP versions")
        }
        switch request.delivery {
        case .buffered: break
        case .file where appliesBackpressure || !request.body.isPresent: break
        case .streamed where appliesBackpressure: break
        case .file: throw PulseError.unsupported("URLSession downloads without a body on this platform")
        case .streamed: throw PulseError.unsupported("URLSession cannot hold a server back on this platform")
        case .upgrade where upgrades != nil: try request.validate()
        case .upgrade: throw PulseError.unsupported("URLSessionTransport makes no upgrades on this platform")
        }
        if case .stream = request.body, !SessionUpload.isSupported {
            throw PulseError.unsupported("URLSession sends bodies of bytes and files only on this platform")
        }
        if (request.urlRequest.httpMethod ?? "GET") == "GET", request.body.isPresent {
            throw PulseError.unsupported("URLSession sends no body with GET")
        }
    }

    private static func unsupported(_ what: String) -> PulseError {
        .unsupported("URLSessionTransport enforces no \(what) on this platform")
    }

    public func shutdown() async {
        // An unread download keeps its slot, for which other requests may wait.
        slots.shutdown()
        exchanges.shutdown()
        upgrades?.shutdown()
        shared.withLock { $0.removeAll() }
    }

    func prepared(_ request: TransportRequest) -> URLRequest {
        var urlRequest = request.urlRequest
        urlRequest.timeoutInterval = Self.timeoutInterval(request.idleTimeout)
        urlRequest.cachePolicy = .reloadIgnoringLocalCacheData
        urlRequest.httpShouldHandleCookies = false
        // QUIC might bypass the proxy.
        if case .proxy = request.proxy.route { Self.assumeNoHTTP3(&urlRequest) }
        urlRequest.sendUserInfo()
        return urlRequest
    }

    func task(for request: TransportRequest, in session: URLSession) -> URLSessionTask {
        var urlRequest = prepared(request)
        switch request.body {
        case .none:
            return session.dataTask(with: urlRequest)
        case .stream(let stream):
            // Without a length the body is sent in chunks.
            if let length = stream.length { urlRequest.setValue("\(length)", forHTTPHeaderField: "Content-Length") }
            return session.uploadTask(withStreamedRequest: urlRequest)
        case .bytes(let data):
            // A data task adds a Content-Type to a POST.
            urlRequest.httpBody = nil
            return session.uploadTask(with: urlRequest, from: data)
        case .file(let file):
            // Foundation on Linux declares the length of a symbolic link instead of its target's, and waits for the
            // missing bytes.
            return session.uploadTask(with: urlRequest, fromFile: file.resolvingSymlinksInPath())
        }
    }

    // MARK: Sessions

    /// The shared session for the settings. A request gets its own session if Foundation would resend it on a stale
    /// connection although it must not, or if it needs a new connection.
    func session(for request: TransportRequest, _ settings: SessionSettings) throws -> SessionLease {
        if request.needsNewConnection || Self.resendsOnStaleConnections && !request.mayBeResent {
            return try newSession(settings)
        }
        if let lease = shared.withLock({ $0.withValue(for: settings) { $0 } }) { return lease }
        // Outside the lock: importing a client certificate is slow.
        let lease = try newSession(settings)
        return shared.withLock { $0.withValue(for: settings, default: lease) { $0 } }
    }

    private func newSession(_ settings: SessionSettings) throws -> SessionLease {
        let configuration = self.settings()
        // Unless the app has set its own limit.
        if settings.isUnlimited, configuration.httpMaximumConnectionsPerHost == slots.limit {
            configuration.httpMaximumConnectionsPerHost = Self.portCount
        }
        var credentials = SessionCredentials()
        var proxy = SessionProxy.system
        if let security = exchanges.security {
            credentials = try SessionCredentials(settings, security)
            proxy = try SessionProxy(
                ofSession: settings.proxy, isSecure: settings.tunnels, hasConfigurations: SessionProxy.hasConfigurations
            )
            try configuration.apply(settings.tls, proxy)
        }
        let session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
        return SessionLease(session, credentials, proxy, of: exchanges)
    }
}

extension URLRequest {
    /// Turns user info in the URL into Basic credentials, unless others are set, as libcurl does. Foundation would
    /// withhold it until a challenge, and then resend the request.
    mutating func sendUserInfo() {
        guard let url, url.user != nil || url.password != nil,
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return }
        if value(forHTTPHeaderField: "Authorization") == nil {
            let field = HTTPHeaders.Field.authorization(username: parts.user ?? "", password: parts.password ?? "")
            setValue(field.value, forHTTPHeaderField: field.name)
        }
        (parts.user, parts.password) = (nil, nil)
        self.url = parts.url ?? url
    }
}

extension TransportRequest.Body {
    var isPresent: Bool {
        if case .none = self { false } else { true }
    }

    fileprivate var isKnownToBeEmpty: Bool {
        get async throws {
            switch self {
            case .none, .stream: false
            case .bytes(let data): data.isEmpty
            // Foundation may crash the process for a file that it cannot open, or report it as possibly sent.
            case .file(let file): try await FileSource(file).length == 0
            }
        }
    }
}
