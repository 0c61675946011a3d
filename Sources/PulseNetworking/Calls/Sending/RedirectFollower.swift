// SPDX-License-Identifier: MIT

import PulseCore

/// Follows redirects outside the chain: each hop is a separate request that passes all plugins.
final class RedirectFollower: Sendable {
    private let environment: CallEnvironment
    private let cookies: (any CookieStore)?

    init(_ configuration: PulseConfiguration, environment: CallEnvironment) {
        self.environment = environment
        cookies = configuration.cookieStore
    }

    /// Sends the request and follows its redirects. Returns the last response, with any status.
    func send(
        _ built: BuiltRequest, for call: Call, through pipeline: PluginPipeline, cache: RequestOptions.Cache? = nil
    ) async throws -> PulseResponse {
        var hop = Hop(request: built.urlRequest, url: built.url, body: built.body)
        while true {
            try Task.checkCancellation()
            let stored = cookies == nil ? nil : await storedCookies(for: hop.request, at: hop.url)
            var outgoing = hop.request
            if let stored { outgoing.setValue(stored, forHTTPHeaderField: "Cookie") }
            let context = context(of: hop, outgoing, stored, from: built, for: call, cache)
            let chain = PluginChain(pipeline, context: context)
            // A call without plugins makes no nested call, and is never marked complete.
            switch await pipeline.hasPlugins ? chain.run(outgoing) : chain.result(outgoing) {
            case .success(var response):
                guard try follow(after: &response, &hop, context, from: built) else { return response }
            case .failure(let error):
                throw failure(error, of: hop, in: call)
            }
        }
    }

    /// The next request, and the redirects that led to it.
    private struct Hop {
        var request: URLRequest
        var url: URL
        var body: PluginContext.Body
        var redirects: [PulseResponse.Redirect] = []
    }

    private func context(
        of hop: Hop, _ outgoing: URLRequest, _ storedCookies: String?, from built: BuiltRequest, for call: Call,
        _ cache: RequestOptions.Cache?
    ) -> PluginContext {
        PluginContext(
            call: call, url: hop.url, method: HTTPMethod(rawValue: hop.request.httpMethod ?? "GET") ?? call.method,
            hop: hop.redirects.count, body: hop.body, request: hop.request,
            builtHeaders: mayCarryAnySecret(hop.url, from: built) ? nil : outgoing.allHTTPHeaderFields ?? [:],
            storedCookies: storedCookies, cacheOverride: cache,
            destination: hop.redirects.isEmpty ? built.destination : nil)
    }

    /// Whether the response is a redirect to follow. If so, `hop` becomes the next hop.
    private func follow(
        after response: inout PulseResponse, _ hop: inout Hop, _ context: PluginContext, from built: BuiltRequest
    ) throws -> Bool {
        if !hop.redirects.isEmpty { response.redirects = hop.redirects }
        let policy = context.call.options.redirectPolicy ?? .default
        switch policy.decision(
            for: response, following: hop.request, hop: hop.redirects.count, isBodyReplayable: hop.body.isReplayable)
        {
        case .stop:
            return false
        case .tooManyRedirects:
            response.discard()
            throw PulseError.transport(.httpTooManyRedirects, underlying: PulseError.http(response))
        case .follow(var next, let dropsBody):
            guard let target = next.url else { return false }
            response.discard()
            context.emit(.requestRedirected(context.summary, status: response.statusCode))
            context.call.record(.responded(status: response.statusCode))
            if !environment.keepsOwnSecrets(of: built, at: target) { context.call.removeSecrets(from: &next) }
            if dropsBody {
                hop.body = .inRequest
                context.idempotencyKey = nil
            }
            (hop.request, hop.url) = (next, target)
            hop.redirects.append(PulseResponse.Redirect(statusCode: response.statusCode, url: target))
            return true
        }
    }

    /// The error of a hop. The response in it lists the redirects that led to the hop.
    private func failure(_ error: PulseError, of hop: Hop, in call: Call) -> PulseError {
        guard !hop.redirects.isEmpty else { return error }
        let urls = [hop.url, call.sent?.url]
        let tell = { (response: inout PulseResponse) in
            // A response from another URL belongs to another request, which a plugin sent for the call.
            guard response.redirects.isEmpty, urls.contains(response.request.url) else { return }
            response.redirects = hop.redirects
        }
        // The error of an expired deadline includes the last failure.
        if let last = call.lastFailure { call.record(.failure(last.withResponse(tell))) }
        return error.withResponse(tell)
    }

    /// Whether secrets set by plugins may be sent to the URL. For other URLs the wire sends only the secrets of the
    /// built request.
    private func mayCarryAnySecret(_ url: URL, from built: BuiltRequest) -> Bool {
        if built.isForeign { return false }
        if url == built.url { return environment.allowsSecrets(at: built.destination) }
        return environment.home.isEmpty ? Origin(url) == built.destination.origin : environment.isHome(url)
    }

    /// The stored cookies for the URL; nil if the request has its own `Cookie`.
    private func storedCookies(for request: URLRequest, at url: URL) async -> String? {
        guard let cookies, request.value(forHTTPHeaderField: "Cookie") == nil else { return nil }
        return await cookies.cookieHeader(for: url, now: environment.clock.now)
    }
}

extension CallEnvironment {
    /// Whether the endpoint's own secrets may be sent to that URL. A request that began at home keeps them at home
    /// origins, any other request at the origin where it began.
    package func keepsOwnSecrets(of built: BuiltRequest, at url: URL) -> Bool {
        built.isHome ? isHome(url) : Origin(url) == built.destination.origin
    }

    /// The value of a header for another origin; nil if it must not be sent there. A `Referer` is cut to its origin, as
    /// browsers do (Referrer Policy, `strict-origin-when-cross-origin`).
    func foreignValue(_ value: String, of name: String) -> String? {
        if redaction.isSecret(name) || name.equalsIgnoringASCIICase("Origin") { return nil }
        if name.equalsIgnoringASCIICase("Referer") {
            return URL(string: value).flatMap { Origin($0) }.map { "\($0)/" }
        }
        return redaction.isSecret(name, value: value) ? nil : value
    }
}

extension Call {
    /// Removes the headers that must not be sent to another origin. A later hop back home does not restore them.
    package func removeSecrets(from request: inout URLRequest) {
        let marked = markedSecrets
        for (name, value) in request.allHTTPHeaderFields ?? [:] {
            let isMarked = marked.contains(name.asciiLowercased)
            request.setValue(isMarked ? nil : environment.foreignValue(value, of: name), forHTTPHeaderField: name)
        }
    }
}

extension PulseError {
    /// The same error with its response changed, if it has one.
    fileprivate func withResponse(_ change: (inout PulseResponse) -> Void) -> PulseError {
        switch self {
        case .http(var response):
            change(&response)
            return .http(response)
        case .unauthorized(var response?):
            change(&response)
            return .unauthorized(response)
        case .retryExhausted(let last, let attempts):
            return .retryExhausted(last: last.withResponse(change), attempts: attempts)
        case .deadlineExceeded(let last?):
            return .deadlineExceeded(last: last.withResponse(change))
        default:
            return self
        }
    }
}
