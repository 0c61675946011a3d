// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore

extension PulseClient {
    /// Plans the opening handshake: a separate call that ends with the response.
    ///
    /// - Parameter isReconnect: true disables retries of the call.
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

/// Adapts a socket's endpoint to the HTTP request of its handshake.
private struct SocketHandshakeCall<E: SocketEndpoint>: Endpoint {
    typealias Response = EmptyResponse
    let endpoint: E

    /// `ws` and `wss` map to `http` and `https` (RFC 6455, section 3).
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
