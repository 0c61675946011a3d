// SPDX-License-Identifier: MIT

import PulseCore

extension PulseClient {
    /// The handshake: a call of its own, which ends with the response.
    ///
    /// - Parameter isReconnect: whether the call is not retried.
    func handshake<E: SocketEndpoint>(_ endpoint: E, isReconnect: Bool) throws -> CallPlan {
        let headers = try SocketUpgrade.headers(
            subprotocols: endpoint.subprotocols, compresses: endpoint.socketOptions.compression == .offered)
        var options = endpoint.options
        options.headers = (options.headers ?? [:]).overridden(by: headers)
        options.acceptedStatuses = .only(101)
        (options.cache, options.progress) = (.bypass, nil)
        if isReconnect { options.retry = .never }
        #if DEBUG
        endpointCheck.check(endpoint)
        #endif
        let plan = plan(
            SocketHandshakeCall(endpoint: endpoint), options,
            CallShape(delivery: .upgrade, accept: "*/*", routeType: E.self))
        PluginContext.Store(call: plan.call)[Handshake.self] = { SocketUpgrade(&$0, $1).check }
        return plan
    }
}

/// The handshake of a socket as an endpoint.
private struct SocketHandshakeCall<E: SocketEndpoint>: Endpoint {
    typealias Response = EmptyResponse
    let endpoint: E

    /// The schemes of WebSockets mean those of HTTP (RFC 6455, section 3).
    var path: String {
        get throws {
            let path = try endpoint.path.requestPath.text
            for (scheme, plain) in [("ws://", "http://"), ("wss://", "https://")]
            where String(path.prefix(scheme.count)).equalsIgnoringASCIICase(scheme) {
                return plain + path.dropFirst(scheme.count)
            }
            return path
        }
    }
    var headers: [String: String] { endpoint.headers }
    var queryParameters: [String: String] { endpoint.queryParameters }
    var queryItems: [URLQueryItem] { endpoint.queryItems }
    var plugins: [any PulsePlugin] { endpoint.plugins }
}
