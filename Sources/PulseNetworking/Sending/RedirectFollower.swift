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
        let firstOrigin = Origin(built.url)
        var (request, url, body) = (built.urlRequest, built.url, built.body)
        var redirects: [PulseResponse.Redirect] = []
        while true {
            try Task.checkCancellation()
            let context = PluginContext(
                call: call, url: url, method: HTTPMethod(rawValue: request.httpMethod ?? "GET") ?? call.method,
                hop: redirects.count, body: body,
                builtHeaders: keepsSecrets(at: url, hop: redirects.count, firstOrigin)
                    ? nil : request.allHTTPHeaderFields ?? [:],
                cacheOverride: cache)
            let outgoing = await withCookies(request, for: url)
            var response = try await PluginChain(links, context: context)(outgoing)
            response.redirects = redirects
            switch policy.decision(
                for: response, following: request, hop: redirects.count, isBodyReplayable: body.isReplayable)
            {
            case .stop:
                return response
            case .tooManyRedirects:
                response.bytes?.cancel()
                throw PulseError.transport(.httpTooManyRedirects, underlying: PulseError.http(response))
            case .follow(let next, let dropsBody):
                response.bytes?.cancel()
                context.emit(.requestRedirected(context.summary, status: response.statusCode))
                request = next
                if dropsBody {
                    body = .inRequest
                    context.idempotencyKey = nil
                }
            }
        }
    }
}
