// SPDX-License-Identifier: MIT

import PulseCore

extension PulseClient {
    /// Creates a call, before its request is built.
    ///
    /// - Parameter path: the endpoint's path; empty if it throws. Parts that may not be a path, such as the authority
    ///   of a malformed URL, are not shown.
    /// - Parameter routeType: names the route if the options do not.
    /// - Parameter delivery: buffered by default.
    /// - Parameter environment: the client's by default.
    package func call(
        to path: String, _ routeType: Any.Type?, _ method: HTTPMethod, _ options: RequestOptions,
        _ delivery: TransportRequest.Delivery? = nil, isQueueable: Bool = false, environment: CallEnvironment? = nil
    ) -> Call {
        let isAbsolute = AbsoluteURL.hasScheme(path)
        let url = isAbsolute ? URL(string: path) : nil
        let end = path.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        return Call(
            endpointPath: isAbsolute ? url?.path ?? "" : end.map { String(path[..<$0]) } ?? path,
            routeType: routeType,
            method: method,
            host: isAbsolute ? url?.host ?? "" : host,
            options: options,
            delivery: delivery ?? .buffered(limit: options.maxBufferedBodySize ?? .max),
            environment: environment ?? self.environment,
            isQueueable: isQueueable)
    }
}

extension RequestOptions {
    /// The fault in the options of a call, or nil. A timeout of zero is ambiguous (no time or no limit), and an
    /// empty idempotency key protects nothing.
    var fault: String? {
        if case .value(let key) = idempotencyKey, key.isEmpty || !key.isHTTPFieldValue {
            return "the idempotency key is empty, or no value of a header"
        }
        return Self.fault("timeout", timeout) ?? Self.fault("connectTimeout", connectTimeout)
            ?? Self.fault("poolTimeout", poolTimeout)
            ?? (deadline?.isNaN == true ? "the deadline is no number" : nil)
    }

    private static func fault(_ name: String, _ seconds: TimeInterval?) -> String? {
        guard let seconds, !(seconds > 0) else { return nil }
        return "the \(name) is \(seconds), and no positive number of seconds"
    }
}

extension BuiltRequest {
    /// Whether the request may be resent, starting from the first hop.
    var mayStartAgain: Bool {
        body.isReplayable && urlRequest.isIdempotent
    }

    /// Writes the call's idempotency key into the request and the call, so that every attempt, hop and replay carries
    /// the same key. A key that the endpoint sets itself takes precedence.
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
        urlRequest.setHeader("Idempotency-Key", to: key)
    }
}

extension PulseResponse.Origin {
    /// Whether the body comes from a cache or a similar store instead of the server.
    var isStored: Bool {
        switch self {
        case .cache, .stale, .revalidated: true
        case .network, .coalesced, .mock: false
        }
    }
}
