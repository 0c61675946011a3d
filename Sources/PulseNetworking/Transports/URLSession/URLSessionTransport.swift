// SPDX-License-Identifier: MIT

public import PulseCore

/// The transport over Foundation's `URLSession`: the default on Apple platforms.
///
/// It buffers bodies up to the request's limit and sends bodies of bytes and files; other deliveries and bodies are
/// ``PulseError/unsupported(_:)``, and so are pins and TLS settings, which it does not enforce. Connecting falls under
/// the idle timeout, because `URLSession` has no timeout of its own for it.
///
/// On Linux see `Docs/Conformance.md` for what Foundation's implementation cannot do.
public final class URLSessionTransport: Transport {
    private let settings: @Sendable () -> URLSessionConfiguration
    private let slots: HostSlots
    private let exchanges = SessionDelegate()
    /// What requests share; the first of them makes it.
    private let shared = Locked<SessionLease?>(nil)

    /// - Parameter maximumConnectionsPerHost: requests to one host at a time; more wait in their order.
    /// - Parameter configure: changes the session's configuration before the session is made, at the first request.
    ///   Caches, cookies and credential stores are off, since these are the client's business.
    public init(
        maximumConnectionsPerHost: Int = PulseConfiguration().maximumConnectionsPerHost,
        configure: (@Sendable (URLSessionConfiguration) -> Void)? = nil
    ) {
        slots = HostSlots(limit: maximumConnectionsPerHost)
        settings = {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpMaximumConnectionsPerHost = max(1, maximumConnectionsPerHost)
            configuration.urlCache = nil
            configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
            configuration.httpCookieStorage = nil
            configuration.httpShouldSetCookies = false
            configuration.httpCookieAcceptPolicy = .never
            configuration.urlCredentialStorage = nil
            configure?(configuration)
            return configuration
        }
    }

    public func send(_ request: TransportRequest) async throws -> PulseResponse {
        guard case .buffered(let limit) = request.delivery else {
            throw PulseError.unsupported("URLSessionTransport delivers buffered bodies only")
        }
        if case .stream = request.body {
            throw PulseError.unsupported("URLSessionTransport sends bodies of bytes and files only")
        }
        if (request.urlRequest.httpMethod ?? "GET") == "GET", request.body.isPresent {
            throw PulseError.unsupported("URLSession sends no body with GET")
        }
        guard let url = request.urlRequest.url, let origin = Origin(url) else {
            throw PulseError.invalidURL("an http or https URL with a host is needed")
        }
        try await slots.acquire(origin)
        defer { slots.release(origin) }
        try Task.checkCancellation()
        guard !exchanges.isShutDown else { throw CancellationError() }
        let session = session(for: request)
        let start = SystemClock().uptime
        var response = try await exchanges.run(task(for: request, in: session.session), limit: limit)
        response.request = request.urlRequest
        response.latency = SystemClock().uptime - start
        return response
    }

    public func shutdown() async {
        exchanges.shutdown()
        shared.withLock { $0 = nil }
    }

    private func task(for request: TransportRequest, in session: URLSession) -> URLSessionTask {
        var urlRequest = request.urlRequest
        urlRequest.timeoutInterval = Self.timeoutInterval(request.idleTimeout)
        urlRequest.cachePolicy = .reloadIgnoringLocalCacheData
        urlRequest.httpShouldHandleCookies = false
        switch request.body {
        case .none, .stream:
            return session.dataTask(with: urlRequest)
        case .bytes(let data):
            // A data task invents a Content-Type for a POST.
            urlRequest.httpBody = nil
            return session.uploadTask(with: urlRequest, from: data)
        case .file(let file):
            return session.uploadTask(with: urlRequest, fromFile: file)
        }
    }

    // MARK: Sessions

    /// The shared session; for a request that must not be repeated a session of its own where the engine would repeat it
    /// on a kept-alive connection that died.
    private func session(for request: TransportRequest) -> SessionLease {
        if Self.repeatsOnDeadConnections, !request.mayBeResent { return newSession() }
        return shared.withLock { shared in
            let session = shared ?? newSession()
            shared = session
            return session
        }
    }

    private func newSession() -> SessionLease {
        let session = URLSession(configuration: settings(), delegate: exchanges, delegateQueue: nil)
        return SessionLease(session, of: exchanges)
    }
}

/// A session for as long as somebody may start a task in it: doing so after its end would end the process.
private final class SessionLease: Sendable {
    let session: URLSession
    private let owner: SessionDelegate

    init(_ session: URLSession, of owner: SessionDelegate) {
        self.session = session
        self.owner = owner
    }

    deinit {
        owner.dispose(session)
    }
}

extension TransportRequest.Body {
    fileprivate var isPresent: Bool {
        if case .none = self { false } else { true }
    }
}
