// SPDX-License-Identifier: MIT

import PulseCore

/// Follows redirects above the chain: each hop is a request of its own through all plugins.
struct RedirectFollower: Sendable {
    private let environment: CallEnvironment
    private let cookies: (any CookieStore)?

    init(_ configuration: PulseConfiguration, environment: CallEnvironment) {
        self.environment = environment
        cookies = configuration.cookieStore
    }

    /// Sends the request and whatever its redirects ask for; gives the last answer, whatever its status.
    func send(
        _ built: BuiltRequest, for call: Call, through links: PluginChain.Links, cache: RequestOptions.Cache? = nil
    ) async throws -> PulseResponse {
        let policy = call.options.redirectPolicy ?? .default
        var (request, url, body) = (built.urlRequest, built.url, built.body)
        var redirects: [PulseResponse.Redirect] = []
        while true {
            try Task.checkCancellation()
            let hop = redirects.count
            let outgoing = if let cookies { await self.request(request, with: cookies, for: url) } else { request }
            let context = PluginContext(
                call: call, url: url, method: HTTPMethod(rawValue: request.httpMethod ?? "GET") ?? call.method,
                hop: hop, body: body,
                builtHeaders: mayCarryAnySecret(url, from: built) ? nil : outgoing.allHTTPHeaderFields ?? [:],
                cacheOverride: cache)
            var response = try await PluginChain(links, context: context).result(outgoing).get()
            if !redirects.isEmpty { response.redirects = redirects }
            switch policy.decision(for: response, following: request, hop: hop, isBodyReplayable: body.isReplayable) {
            case .stop:
                return response
            case .tooManyRedirects:
                response.bytes?.cancel()
                throw PulseError.transport(.httpTooManyRedirects, underlying: PulseError.http(response))
            case .follow(var next, let dropsBody):
                guard let target = next.url else { return response }
                response.bytes?.cancel()
                context.emit(.requestRedirected(context.summary, status: response.statusCode))
                if !keepsOwnSecrets(target, from: built) { removeSecrets(from: &next, of: call) }
                if dropsBody {
                    body = .inRequest
                    context.idempotencyKey = nil
                }
                (request, url) = (next, target)
                redirects.append(PulseResponse.Redirect(statusCode: response.statusCode, url: target))
            }
        }
    }

    /// Whether the secrets that plugins set may go there; elsewhere the wire lets through only those that were built.
    private func mayCarryAnySecret(_ url: URL, from built: BuiltRequest) -> Bool {
        if url == built.url { return built.isHome || environment.home.isEmpty }
        return environment.home.isEmpty ? Origin(url) == Origin(built.url) : environment.isHome(url)
    }

    /// Whether the endpoint's own secrets may go along: home if the call began there, else where it began.
    private func keepsOwnSecrets(_ url: URL, from built: BuiltRequest) -> Bool {
        built.isHome ? environment.isHome(url) : Origin(url) == Origin(built.url)
    }

    /// Headers that must not follow to another origin, and do not come back on the way home.
    private func removeSecrets(from request: inout URLRequest, of call: Call) {
        let marked = call.markedSecrets
        for name in (request.allHTTPHeaderFields ?? [:]).keys
        where environment.redaction.isSecret(name) || marked.contains(name.asciiLowercased)
            || name.equalsIgnoringASCIICase("Origin")
        {
            request.setValue(nil, forHTTPHeaderField: name)
        }
    }

    /// The request with the cookies for its URL, unless it has a `Cookie` of its own.
    private func request(_ request: URLRequest, with cookies: any CookieStore, for url: URL) async -> URLRequest {
        guard request.value(forHTTPHeaderField: "Cookie") == nil,
            let header = await cookies.cookieHeader(for: url, now: environment.clock.now)
        else { return request }
        var request = request
        request.setValue(header, forHTTPHeaderField: "Cookie")
        return request
    }
}
