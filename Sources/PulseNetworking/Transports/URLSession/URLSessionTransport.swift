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
    private struct State {
        var session: URLSession?
        var isShutDown = false
    }

    private let settings: @Sendable () -> URLSessionConfiguration
    private let slots: HostSlots
    private let exchanges = SessionDelegate()
    private let state = Locked(State())

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

    deinit {
        state.withLock { $0.session }?.invalidateAndCancel()
    }

    public func send(_ request: TransportRequest) async throws -> PulseResponse {
        guard case .buffered(let limit) = request.delivery else {
            throw PulseError.unsupported("URLSessionTransport delivers buffered bodies only")
        }
        if case .stream = request.body {
            throw PulseError.unsupported("URLSessionTransport sends bodies of bytes and files only")
        }
        guard let url = request.urlRequest.url, let origin = Origin(url) else {
            throw PulseError.invalidURL("an http or https URL with a host is needed")
        }
        try await slots.acquire(origin)
        defer { slots.release(origin) }
        try Task.checkCancellation()
        let session = try session(for: request)
        defer { session.finish() }
        let start = SystemClock().uptime
        var response = try await exchanges.run(task(for: request, in: session.session), limit: limit)
        response.request = request.urlRequest
        response.latency = SystemClock().uptime - start
        return response
    }

    public func shutdown() async {
        let session = state.withLock { state in
            state.isShutDown = true
            defer { state.session = nil }
            return state.session
        }
        exchanges.cancelAll()
        session?.invalidateAndCancel()
    }

    private func task(for request: TransportRequest, in session: URLSession) -> URLSessionTask {
        var urlRequest = request.urlRequest
        urlRequest.timeoutInterval = request.idleTimeout
        urlRequest.cachePolicy = .reloadIgnoringLocalCacheData
        urlRequest.httpShouldHandleCookies = false
        switch request.body {
        case .none, .stream:
            return session.dataTask(with: urlRequest)
        case .bytes(let data):
            urlRequest.httpBody = data
            return session.dataTask(with: urlRequest)
        case .file(let file):
            return session.uploadTask(with: urlRequest, fromFile: file)
        }
    }

    // MARK: Sessions

    private struct Lease {
        let session: URLSession
        let isOwn: Bool

        func finish() {
            if isOwn { session.finishTasksAndInvalidate() }
        }
    }

    /// The shared session; for a request that must not be repeated a session of its own where the engine would repeat it
    /// on a kept-alive connection that died.
    private func session(for request: TransportRequest) throws -> Lease {
        let repeats = Self.repeatsOnDeadConnections && !request.mayBeResent
        return try state.withLock { state in
            guard !state.isShutDown else { throw CancellationError() }
            if repeats { return Lease(session: newSession(), isOwn: true) }
            let session = state.session ?? newSession()
            state.session = session
            return Lease(session: session, isOwn: false)
        }
    }

    private func newSession() -> URLSession {
        URLSession(configuration: settings(), delegate: exchanges, delegateQueue: nil)
    }
}
