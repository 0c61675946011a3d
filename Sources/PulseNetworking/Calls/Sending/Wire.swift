// SPDX-License-Identifier: MIT

import PulseCore

/// The end of the chain. Every request passes it last, no matter which plugin sent it.
final class Wire: Sendable {
    private let transport: any Transport
    private let environment: CallEnvironment
    private let calls: CallRegistry
    /// The pinning policy; nil if pinning is disabled.
    private let pinning: SSLPinningPolicy?
    private let tls: TLSSettings
    private let proxy: ProxySettings
    private let httpVersions: PulseConfiguration.HTTPVersions
    /// The policies of requests without pins.
    private let policies: TransportRequest.Policies
    private let cookies: (any CookieStore)?

    init(
        _ transport: any Transport, _ configuration: PulseConfiguration, environment: CallEnvironment,
        calls: CallRegistry
    ) {
        self.transport = transport
        self.environment = environment
        self.calls = calls
        pinning = configuration.sslPinningPolicy == .disabled ? nil : configuration.sslPinningPolicy
        tls = configuration.tls
        proxy = configuration.proxy
        httpVersions = configuration.httpVersions
        policies = TransportRequest.Policies(tls: tls, proxy: proxy, httpVersions: httpVersions)
        cookies = configuration.cookieStore
    }

    /// Strips the secrets that the URL must not receive, shows the request to every plugin, and sends it.
    func send(
        _ request: URLRequest, for context: PluginContext, plugins: [any PulsePlugin]
    ) async throws -> PulseResponse {
        let context = context.onWire()
        var (request, url) = try checked(request, for: context)
        if let cookies { request = try await withCookiesOfNow(request, to: url, for: context, from: cookies) }
        try checkAuth(of: request, at: url, for: context)
        let check =
            context.delivery == .upgrade ? context.store[Handshake.self]?(&request, environment.randomness) : nil
        let outgoing = try transportRequest(request, url, for: context)
        context.call.record(.request(request))
        for plugin in plugins {
            await plugin.willSend(request, for: context)
        }
        do {
            // Detached work of a plugin may get here after the client has shut down.
            guard !Task.isCancelled, !calls.isShutDown else {
                context.noteUnsent()
                throw PulseError.cancelled
            }
            context.emit(.attemptStarted(context.summary(sending: request)))
            let response = try await exchange(outgoing, for: context)
            context.call.record(.responded(status: response.statusCode))
            try check?(response)
            if let cookies { await store(response, from: url, in: cookies) }
            if case .failed(let error) = response.body, context.wantsBody(of: response) { throw error }
            context.emit(
                .responseReceived(
                    context.summary(sending: request), status: response.statusCode, byteCount: response.data.count))
            return response
        } catch {
            // A cancelled transport may report any error. The real reason is the cancellation, or the deadline that
            // caused it.
            let error =
                Task.isCancelled
                ? PulseError.cancelled
                : PulseError(wrapping: error, request: request, maskedBy: outgoing.redaction)
            throw error.kind == .cancelled && context.call.isExpired ? .deadlineExceeded(last: nil) : error
        }
    }

    /// Throws for a request without the credential that its call requires, before anything is sent.
    private func checkAuth(of request: URLRequest, at url: URL, for context: PluginContext) throws {
        guard context.call.options.auth == .required else { return }
        do throws(PulseError) {
            try context.checkAuth(of: request, at: url)
        } catch {
            if error.phase != .beforeSend { context.noteUnsent() }
            throw error
        }
    }

    /// The request with the cookies that the store holds at the time of sending (RFC 6265, section 5.4). A response, a
    /// refresh or a logout may have changed them since the hop began. A `Cookie` from the endpoint or a plugin stays.
    private func withCookiesOfNow(
        _ request: URLRequest, to url: URL, for context: PluginContext, from cookies: any CookieStore
    ) async throws -> URLRequest {
        guard context.carriesStoredCookies(request), !hasMoved(to: url, context) else { return request }
        let current = await cookies.cookieHeader(for: url, now: environment.clock.now)
        guard current != context.storedCookies else { return request }
        if let current { try HTTPHeaders.validate(name: "Cookie", value: current) }
        var request = request
        request.setHeader("Cookie", to: current)
        return request
    }

    /// Sends the request and returns the response, even if its body failed: the status may decide without the body.
    private func exchange(_ outgoing: TransportRequest, for context: PluginContext) async throws -> PulseResponse {
        do {
            var response =
                if let meter = context.call.bodyMeter {
                    try await transport.send(outgoing, measuredBy: meter)
                } else if let meter = context.progressMeter(for: outgoing) {
                    try await transport.send(outgoing, measuredBy: meter)
                } else {
                    try await transport.send(outgoing)
                }
            response.bytes?.request = PulseError.text(of: outgoing.urlRequest, maskedBy: outgoing.redaction)
            if case .buffered(let limit) = context.delivery, response.data.count > limit {
                response.body = .failed(.responseTooLarge(limit: limit))
            }
            return response
        } catch let failure as TransportFailure where !Task.isCancelled {
            guard var response = failure.response else { throw failure }
            response.body = .failed(
                PulseError(wrapping: failure, request: outgoing.urlRequest, maskedBy: outgoing.redaction))
            return response
        }
    }

    private func store(_ response: PulseResponse, from url: URL, in cookies: any CookieStore) async {
        let lines = response.headers.octets(for: "Set-Cookie").map(OctetText.text)
        if !lines.isEmpty { await cookies.store(setCookie: lines, from: url, now: environment.clock.now) }
    }

    // MARK: Checks before sending

    /// The request as it may be sent, with a valid URL, method and headers. For a foreign origin it has only the
    /// secrets that the client itself built into it.
    private func checked(_ request: URLRequest, for context: PluginContext) throws -> (URLRequest, URL) {
        // The request got here, so the cache has no entry, does not apply to such a request, or is not installed.
        guard context.call.options.cache != .onlyIfCached else { throw PulseError.cacheMiss }
        guard var url = request.url, url == context.url || Origin(url) != nil else {
            throw PulseError.invalidURL("a plugin set a URL that is no absolute http or https URL")
        }
        guard (request.httpMethod ?? "GET").isHTTPToken else {
            throw PulseError.invalidRequest(reason: "the method is not a token")
        }
        let headers = request.allHTTPHeaderFields ?? [:]
        for (name, value) in headers {
            try HTTPHeaders.validate(name: name, value: value)
        }
        var stripped = request
        if url != context.url, url.withPlainHost != url {
            guard let plain = url.withPlainHost else {
                throw PulseError.invalidURL("a plugin set a URL whose host cannot be looked up")
            }
            (url, stripped.url) = (plain, plain)
        }
        if hasMoved(to: url, context) {
            // Cookies and user info of one origin must not be sent to another, trusted or not.
            if let cookies = context.storedCookies, headers.header("Cookie") == cookies {
                stripped.setValue(nil, forHTTPHeaderField: "Cookie")
            }
            if var parts = URLComponents(url: url, resolvingAgainstBaseURL: true), parts.percentEncodedUser != nil {
                (parts.percentEncodedUser, parts.percentEncodedPassword) = (nil, nil)
                url = parts.url ?? url
                stripped.url = url
            }
        }
        guard let permitted = permittedSecrets(at: url, for: context) else { return (stripped, url) }
        let marked = context.call.markedSecrets
        for (name, value) in headers
        where environment.redaction.isSecret(name) || marked.contains(name.asciiLowercased) {
            let own = permitted.header(name)
            if value != own { stripped.setValue(own, forHTTPHeaderField: name) }
        }
        return (stripped, url)
    }

    /// Whether a plugin has moved the request to another origin than the one it was built for.
    private func hasMoved(to url: URL, _ context: PluginContext) -> Bool {
        url != context.url && Origin(url) != context.origin(of: context.url)
    }

    /// The secret headers that may be sent to the URL; nil means all.
    private func permittedSecrets(at url: URL, for context: PluginContext) -> [String: String]? {
        guard hasMoved(to: url, context) else { return context.builtHeaders }
        // Secrets meant for the first origin are not sent to the new one.
        let isUnderstood = environment.home.isEmpty ? context.builtHeaders == nil : environment.isHome(url)
        return isUnderstood ? nil : [:]
    }

    // MARK: The request for the transport

    private func transportRequest(
        _ request: URLRequest, _ url: URL, for context: PluginContext
    ) throws -> TransportRequest {
        let options = context.call.options
        let pins = try pinSet(for: url, at: context.clock)
        let capabilities = transport.capabilities
        if !capabilities.contains(.simulated) {
            if pins != nil, !capabilities.contains(.pinning) { throw unsupported("pinned public keys") }
            if !capabilities.contains(.tls), tls != .default { throw unsupported("TLS settings") }
            if !capabilities.contains(.proxy), proxy != .environment { throw unsupported("proxy settings") }
            if !capabilities.contains(.httpVersions), httpVersions != .automatic, context.delivery != .upgrade {
                throw unsupported("restriction of the HTTP versions")
            }
        }
        var outgoing = TransportRequest(
            urlRequest: request,
            body: TransportRequest.Body(context.body, in: request),
            delivery: context.delivery,
            connectTimeout: options.connectTimeout ?? 10,
            idleTimeout: options.timeout ?? 30,
            mayBeResent: context.isResentIfStale && ReplaySafety(of: request, in: context).allowsRepeat(),
            policies: pins.map {
                TransportRequest.Policies(pins: $0, tls: tls, proxy: proxy, httpVersions: httpVersions)
            } ?? policies,
            priority: options.priority ?? .normal,
            events: environment.events)
        outgoing.poolTimeout = options.poolTimeout ?? 60
        outgoing.needsNewConnection = context.isResend
        outgoing.wasMisdirected = context.resend == .misdirected
        outgoing.context = context
        let marked = context.call.markedSecrets
        outgoing.redaction = marked.isEmpty ? environment.redaction : environment.redaction.adding(marked)
        return outgoing
    }

    private func pinSet(for url: URL, at clock: any PulseClock) throws -> SSLPinningPolicy.PinSet? {
        guard let pinning, url.scheme?.lowercased() == "https", let host = url.host else { return nil }
        let now = clock.now
        // The pins may expire while the client is in use.
        if pinning.hasExpired(by: now) { environment.warnOnce(SSLPinningPolicy.expiryWarning) }
        return try pinning.pinSet(forHost: host, now: now)
    }

    private func unsupported(_ what: String) -> PulseError {
        .unsupported("\(type(of: transport)) cannot enforce the configuration's \(what)")
    }
}

/// Completes an upgrade request as it is sent, and returns the check of its response.
package enum Handshake: PluginContext.Key {
    package typealias Check = @Sendable (PulseResponse) throws -> Void
    package typealias Value = @Sendable (inout URLRequest, any Randomness) -> Check
}

extension PluginContext {
    /// Whether the call needs the body of the response.
    fileprivate func wantsBody(of response: PulseResponse) -> Bool {
        (call.options.acceptedStatuses ?? .successful).contains(response.statusCode) && !willFollow(response)
    }
}

extension TransportRequest.Body {
    fileprivate init(_ source: PluginContext.Body, in request: URLRequest) {
        switch source {
        case .inRequest: self = request.httpBody.map { .bytes($0) } ?? .none
        case .file(let url): self = .file(url)
        case .stream(let stream): self = .stream(stream)
        }
    }
}
