// SPDX-License-Identifier: MIT

import PulseCore

/// What is known of a call before its request is built.
struct Outgoing: Sendable {
    /// As the endpoint gives it; empty if it throws.
    let path: String
    /// Names the route if the options do not.
    let routeType: Any.Type?
    let method: HTTPMethod
    /// Resolved.
    let options: RequestOptions
    /// Goes to the offline queue if it finds no connection.
    let isQueueable: Bool
    /// Nil buffers.
    let delivery: TransportRequest.Delivery?
    let links: PluginChain.Links
}

extension Call {
    convenience init(_ outgoing: Outgoing, host: String, _ environment: CallEnvironment) {
        let url = AbsoluteURL.hasScheme(outgoing.path) ? URL(string: outgoing.path) : nil
        let path = outgoing.path.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(outgoing.path[..<$0]) }
        self.init(
            endpointPath: url?.path ?? path ?? outgoing.path,
            routeType: outgoing.routeType,
            method: outgoing.method,
            host: url?.host ?? host,
            options: outgoing.options,
            delivery: outgoing.delivery ?? .buffered(limit: outgoing.options.maximumBufferedBodySize ?? .max),
            environment: environment)
    }
}

extension BuiltRequest {
    /// Writes the call's key into the request and the call, so that every attempt, hop and replay carries the same one
    /// (the Idempotency-Key header). A key that the endpoint wrote itself stands.
    mutating func writeIdempotencyKey(of call: Call, isQueueable: Bool) {
        if let ownKey {
            call.idempotencyKey = ownKey
            return
        }
        let key: String
        switch call.options.idempotencyKey {
        case .value(let value): key = value
        case .automatic: key = call.environment.randomness.uuid().uuidString
        case nil:
            guard isQueueable else { return }
            key = call.environment.randomness.uuid().uuidString
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
