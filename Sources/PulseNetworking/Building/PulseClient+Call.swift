// SPDX-License-Identifier: MIT

import PulseCore

extension PulseClient {
    /// A call, before its request is built.
    ///
    /// - Parameter path: as the endpoint gives it; empty if it throws.
    /// - Parameter routeType: names the route if the options do not.
    /// - Parameter delivery: buffered unless given.
    func call(
        to path: String, _ routeType: Any.Type?, _ method: HTTPMethod, _ options: RequestOptions,
        _ delivery: TransportRequest.Delivery? = nil
    ) -> Call {
        let url = AbsoluteURL.hasScheme(path) ? URL(string: path) : nil
        let end = path.utf8.firstIndex(of: UInt8(ascii: "?"))
        return Call(
            endpointPath: url?.path ?? end.map { String(path[..<$0]) } ?? path,
            routeType: routeType,
            method: method,
            host: url?.host ?? host,
            options: options,
            delivery: delivery ?? .buffered(limit: options.maximumBufferedBodySize ?? .max),
            environment: environment)
    }
}

extension BuiltRequest {
    /// Writes the call's key into the request and the call, so that every attempt, hop and replay carries the same one
    /// (the Idempotency-Key header). A key that the endpoint wrote itself stands.
    mutating func writeIdempotencyKey(of call: Call) {
        if let ownKey {
            call.idempotencyKey = ownKey
            return
        }
        let key: String
        switch call.options.idempotencyKey {
        case .value(let value): key = value
        case .automatic: key = call.environment.randomness.uuid().uuidString
        case nil: return
        }
        call.idempotencyKey = key
        urlRequest.setValue(key, forHTTPHeaderField: "Idempotency-Key")
    }
}

extension PulseResponse.Origin {
    /// The body is not fresh from the server.
    var isStored: Bool {
        switch self {
        case .cache, .stale, .revalidated: true
        case .network, .coalesced, .mock: false
        }
    }
}
