// SPDX-License-Identifier: MIT

import PulseCore

/// The end of the chain: what a request passes last, whichever plugin sent it here.
struct Wire: Sendable {
    private let transport: any Transport
    private let environment: CallEnvironment
    private let calls: CallRegistry
    private let pinning: SSLPinningPolicy
    private let tls: TLSSettings
    private let proxy: ProxySettings
    private let cookies: (any CookieStore)?

    init(
        _ transport: any Transport, _ configuration: PulseConfiguration, environment: CallEnvironment,
        calls: CallRegistry
    ) {
        self.transport = transport
        self.environment = environment
        self.calls = calls
        pinning = configuration.sslPinningPolicy
        tls = configuration.tls
        proxy = configuration.proxy
        cookies = configuration.cookieStore
    }

    /// Strips what must not go there, shows the request to every plugin, and sends it.
    func send(
        _ request: URLRequest, for context: PluginContext, plugins: [any PulsePlugin]
    ) async throws -> PulseResponse {
        let context = context.onWire()
        let (request, url) = try checked(request, for: context)
        let outgoing = try transportRequest(request, url, for: context)
        for plugin in plugins {
            await plugin.willSend(request, for: context)
        }
        do {
            // Detached work of a plugin may come here after the client has shut down.
            guard !Task.isCancelled, !calls.isShutDown else { throw PulseError.cancelled }
            context.emit(.attemptStarted(context.summary))
            let response = try await transport.send(outgoing)
            try check(response, for: context)
            if let cookies { await store(response, from: url, in: cookies) }
            context.emit(
                .responseReceived(context.summary, status: response.statusCode, byteCount: response.data.count))
            return response
        } catch {
            // A wire that was cut may report anything: the reason is the cancellation, and behind that the deadline.
            let error = Task.isCancelled ? PulseError.cancelled : PulseError(wrapping: error, request: request)
            throw error.kind == .cancelled && context.call.isStruck ? .deadlineExceeded(last: nil) : error
        }
    }

    private func check(_ response: PulseResponse, for context: PluginContext) throws {
        if case .buffered(let limit) = context.delivery, response.data.count > limit {
            throw PulseError.responseTooLarge(limit: limit)
        }
    }

    private func store(_ response: PulseResponse, from url: URL, in cookies: any CookieStore) async {
        let lines = response.headers.values(for: "Set-Cookie")
        if !lines.isEmpty { await cookies.store(setCookie: lines, from: url, now: environment.clock.now) }
    }

    // MARK: What may leave

    /// The request as it may leave: a valid URL, method and headers, and at a foreign origin no secret that the client
    /// did not build into the request itself.
    private func checked(_ request: URLRequest, for context: PluginContext) throws -> (URLRequest, URL) {
        guard let url = request.url, url == context.url || Origin(url) != nil else {
            throw PulseError.invalidURL("a plugin set a URL that is no absolute http or https URL")
        }
        guard (request.httpMethod ?? "GET").isHTTPToken else {
            throw PulseError.invalidRequest(reason: "the method is not a token")
        }
        let headers = request.allHTTPHeaderFields ?? [:]
        for (name, value) in headers {
            try HTTPHeaders.validate(name: name, value: value)
        }
        guard let permitted = permittedSecrets(at: url, for: context) else { return (request, url) }
        var stripped = request
        let marked = context.call.markedSecrets
        for (name, value) in headers
        where environment.redaction.isSecret(name) || marked.contains(name.asciiLowercased) {
            let own = permitted.header(name)
            if value != own { stripped.setValue(own, forHTTPHeaderField: name) }
        }
        return (stripped, url)
    }

    /// The secret headers that may go to that URL, or nil if any may.
    private func permittedSecrets(at url: URL, for context: PluginContext) -> [String: String]? {
        guard url != context.url, Origin(url) != Origin(context.url) else { return context.builtHeaders }
        // A plugin has moved the request to another origin: nothing that was meant for the first goes along.
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
            if tls != .default, !capabilities.contains(.tls) { throw unsupported("TLS settings") }
            if proxy != .environment, !capabilities.contains(.proxy) { throw unsupported("proxy settings") }
        }
        return TransportRequest(
            urlRequest: request,
            body: TransportRequest.Body(context.body, in: request),
            delivery: context.delivery,
            connectTimeout: options.connectTimeout ?? 10,
            idleTimeout: options.timeout ?? 30,
            mayBeResent: context.body.isReplayable
                && (context.method.isIdempotent && request.isIdempotent || request.hasIdempotencyKey),
            pins: pins,
            tls: tls,
            proxy: proxy,
            priority: options.priority ?? .normal,
            events: environment.events)
    }

    private func pinSet(for url: URL, at clock: any PulseClock) throws -> PinSet? {
        guard pinning != .disabled, url.scheme?.lowercased() == "https", let host = url.host else { return nil }
        return try pinning.pinSet(forHost: host, now: clock.now)
    }

    private func unsupported(_ what: String) -> PulseError {
        .unsupported("\(type(of: transport)) cannot enforce the configuration's \(what)")
    }
}

extension URLRequest {
    fileprivate var hasIdempotencyKey: Bool { value(forHTTPHeaderField: "Idempotency-Key") != nil }
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
