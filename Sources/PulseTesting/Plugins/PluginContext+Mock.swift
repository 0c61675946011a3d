// SPDX-License-Identifier: MIT

import PulseCore

extension PluginContext {
    /// The context of a call without a client, for tests of a single plugin.
    ///
    /// - Parameter request: the call's request; its origin is trusted, see `isTrusted(_:)`.
    /// - Parameter endpointPath: the URL's path by default.
    /// - Parameter options: passed on unchanged, except `deadline`, and `route`, which is the path by default.
    /// - Parameter deadline: in seconds from now; nil for the deadline of `options`.
    /// - Parameter attempt: of the retry loop, counted from 1.
    /// - Parameter hop: of the redirects, counted from 0.
    /// - Parameter trustedOrigins: origins to trust in addition to the request's own.
    /// - Parameter events: receives the plugin's events.
    public static func mock(
        for request: URLRequest = .mock(),
        endpointPath: String? = nil,
        options: RequestOptions = RequestOptions(),
        delivery: TransportRequest.Delivery = .buffered(limit: 128 << 20),
        body: Body = .inRequest,
        deadline: TimeInterval? = nil,
        attempt: Int = 1,
        hop: Int = 0,
        trustedOrigins: [URL] = [],
        clock: any PulseClock = SystemClock(),
        randomness: any Randomness = SystemRandomness(),
        events: (any EventSink)? = nil
    ) -> PluginContext {
        let url = request.url ?? URL(fileURLWithPath: "/")
        let path = endpointPath ?? url.path
        var options = options
        options.route = options.route ?? path
        options.deadline = deadline ?? options.deadline
        let method = HTTPMethod(rawValue: request.httpMethod ?? "GET") ?? .get
        let environment = CallEnvironment(
            clock: clock, randomness: randomness, events: events,
            home: Set(([url] + trustedOrigins).compactMap { Origin($0) }))
        let call = Call(
            endpointPath: path, routeType: nil, method: method, host: url.host ?? "", options: options,
            delivery: delivery, environment: environment)
        let context = PluginContext(
            call: call, url: url, method: method, hop: hop, body: body, request: request)
        return attempt == 1 ? context : context.with(attempt: attempt)
    }
}

extension URLRequest {
    /// A request for a test: `.mock(.post, "/users", body: Data("{}".utf8))`.
    ///
    /// - Parameter target: an absolute URL, or a path at `https://api.example.com`. Text that is not a valid URL yields
    ///   that origin alone.
    public static func mock(
        _ method: HTTPMethod = .get, _ target: String = "/", headers: [String: String] = [:], body: Data? = nil
    ) -> URLRequest {
        let home = URL(string: "https://api.example.com/") ?? URL(fileURLWithPath: "/")
        var request = URLRequest(url: URL(string: target, relativeTo: home)?.absoluteURL ?? home)
        request.httpMethod = method.rawValue
        request.httpBody = body
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        return request
    }
}
