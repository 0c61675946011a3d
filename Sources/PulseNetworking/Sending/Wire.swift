// SPDX-License-Identifier: MIT

import PulseCore

/// The end of the chain, which every request passes last, whichever plugin sent it.
final class Wire: Sendable {
    private let transport: any Transport
    private let environment: CallEnvironment
    private let calls: CallRegistry
    /// Nil if it is switched off.
    private let pinning: SSLPinningPolicy?
    private let tls: TLSSettings
    private let proxy: ProxySettings
    /// The policies of a request without pins.
    private let policies: TransportRequest.Policies
    private let cookies: (any CookieStore)?
    private let hasWarnedOfExpiry = Locked(false)

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
        policies = TransportRequest.Policies(tls: tls, proxy: proxy)
        cookies = configuration.cookieStore
    }

    /// Strips what must not go there, shows the request to every plugin, and sends it.
    func send(
        _ request: URLRequest, for context: PluginContext, plugins: [any PulsePlugin]
    ) async throws -> PulseResponse {
        let context = context.onWire()
        var (request, url) = try checked(request, for: context)
        if let cookies { request = try await withCookiesOfNow(request, to: url, for: context, from: cookies) }
        try checkAuth(of: request, at: url, for: context)
        let outgoing = try transportRequest(request, url, for: context)
        context.call.record(.request(request))
        for plugin in plugins {
            await plugin.willSend(request, for: context)
        }
        do {
            // Detached work of a plugin may come here after the client has shut down.
            guard !Task.isCancelled, !calls.isShutDown else {
                context.noteUnsent()
                throw PulseError.cancelled
            }
            context.emit(.attemptStarted(context.summary(sending: request)))
            let response = try await transport.send(outgoing)
            context.call.record(.responded(status: response.statusCode))
            try check(response, for: context)
            if let cookies { await store(response, from: url, in: cookies) }
            context.emit(
                .responseReceived(
                    context.summary(sending: request), status: response.statusCode, byteCount: response.data.count))
            return response
        } catch {
            // A wire that was cut may report anything: the real reason is the cancellation, or the deadline that caused
            // it.
            let error = Task.isCancelled ? PulseError.cancelled : PulseError(wrapping: error, request: request)
            throw error.kind == .cancelled && context.call.isExpired ? .deadlineExceeded(last: nil) : error
        }
    }

    /// Throws for a request without the credential that its call requires: then nothing of it has left.
    private func checkAuth(of request: URLRequest, at url: URL, for context: PluginContext) throws {
        guard context.call.options.auth == .required else { return }
        do throws(PulseError) {
            try context.checkAuth(of: request, at: url)
        } catch {
            if error.phase != .beforeSend { context.noteUnsent() }
            throw error
        }
    }

    /// The request with what the cookie store holds when it is sent (RFC 6265, section 5.4): since the hop began, an
    /// answer, a refresh or a logout may have changed that. A `Cookie` from the endpoint or a plugin stays.
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

    private func check(_ response: PulseResponse, for context: PluginContext) throws {
        if case .buffered(let limit) = context.delivery, response.data.count > limit {
            throw PulseError.responseTooLarge(limit: limit)
        }
    }

    private func store(_ response: PulseResponse, from url: URL, in cookies: any CookieStore) async {
        let lines = response.headers.octets(for: "Set-Cookie").map(OctetText.text)
        if !lines.isEmpty { await cookies.store(setCookie: lines, from: url, now: environment.clock.now) }
    }

    // MARK: What may leave

    /// The request as it may leave: a valid URL, method and headers, and at a foreign origin no secret that the client
    /// did not build into the request itself.
    private func checked(_ request: URLRequest, for context: PluginContext) throws -> (URLRequest, URL) {
        // Whether the cache has nothing, has nothing to do with such a request, or is not there.
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
            // Cookies of one origin are not for another, trusted or not; nor is who somebody is there.
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

    /// Whether a plugin has moved the request to another origin than it was built for.
    private func hasMoved(to url: URL, _ context: PluginContext) -> Bool {
        url != context.url && Origin(url) != Origin(context.url)
    }

    /// The secret headers that may go to that URL, or nil if any may.
    private func permittedSecrets(at url: URL, for context: PluginContext) -> [String: String]? {
        guard hasMoved(to: url, context) else { return context.builtHeaders }
        // Secrets that were meant for the first origin do not go along.
        let isUnderstood = environment.home.isEmpty ? context.builtHeaders == nil : environment.isHome(url)
        return isUnderstood ? nil : [:]
    }

    // MARK: What the transport must know

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
        }
        var outgoing = TransportRequest(
            urlRequest: request,
            body: TransportRequest.Body(context.body, in: request),
            delivery: context.delivery,
            connectTimeout: options.connectTimeout ?? 10,
            idleTimeout: options.timeout ?? 30,
            mayBeResent: context.isResentIfStale && ReplaySafety(of: request, in: context).allowsRepeat(),
            policies: pins.map { TransportRequest.Policies(pins: $0, tls: tls, proxy: proxy) } ?? policies,
            priority: options.priority ?? .normal,
            events: environment.events)
        outgoing.needsNewConnection = context.isResend
        outgoing.context = context
        let marked = context.call.markedSecrets
        outgoing.redaction = marked.isEmpty ? environment.redaction : environment.redaction.adding(marked)
        return outgoing
    }

    private func pinSet(for url: URL, at clock: any PulseClock) throws -> PinSet? {
        guard let pinning, url.scheme?.lowercased() == "https", let host = url.host else { return nil }
        let now = clock.now
        if pinning.hasExpired(by: now) { warnOfExpiry() }
        return try pinning.pinSet(forHost: host, now: now)
    }

    /// The pins may expire while the client lives. Told once, and not before somebody listens.
    private func warnOfExpiry() {
        guard let events = environment.events, events.isActive else { return }
        let isFirst = hasWarnedOfExpiry.withLock { hasWarned in
            defer { hasWarned = true }
            return !hasWarned
        }
        if isFirst { events.emit(.warning(SSLPinningPolicy.expiryWarning)) }
    }

    private func unsupported(_ what: String) -> PulseError {
        .unsupported("\(type(of: transport)) cannot enforce the configuration's \(what)")
    }
}

extension TransportRequest.Body {
    fileprivate init(_ source: BodySource, in request: URLRequest) {
        switch source {
        case .inRequest: self = request.httpBody.map { .bytes($0) } ?? .none
        case .file(let url): self = .file(url)
        case .stream(let stream): self = .stream(stream)
        }
    }
}
