// SPDX-License-Identifier: MIT

import PulseCore

/// The identity of a model's request. Models with equal keys share a request.
///
/// Endpoints of a `Hashable` type are compared as a whole. Others are compared by the request that they send, and by
/// the options that determine the response. A body is not compared.
struct RequestKey: Hashable {
    private struct Parts: Hashable {
        let method: HTTPMethod
        let path: String?
        let parameters: [String: String]
        let items: [URLQueryItem]
        let headers: [String: String]
        let auth: RequestOptions.Auth?
        let cache: RequestOptions.Cache?
        let statuses: RequestOptions.AcceptedStatuses?

        init(_ endpoint: some Endpoint) {
            let options = endpoint.options
            method = endpoint.method
            path = try? endpoint.path.requestPath.text
            parameters = endpoint.queryParameters
            items = endpoint.queryItems
            headers = endpoint.headers.overridden(by: options.headers ?? [:])
            (auth, cache, statuses) = (options.auth, options.cache, options.acceptedStatuses)
        }
    }

    private struct Owner: Hashable {
        let number: Int
        let generation: Int
    }

    private enum Identity: Hashable {
        case value(AnyHashable)
        case parts(Parts)
    }

    private let type: ObjectIdentifier
    private let isPaged: Bool
    private let identity: Identity
    /// The owner of a request that cannot be compared with those of others; nil for a shared request.
    private let owner: Owner?

    /// - Parameter owner: the requesting member, whose number is part of the key if the endpoint cannot be compared.
    /// - Parameter generation: the number of the owner's request, which is then part of the key, too.
    init<E: Endpoint>(_ endpoint: E, isPaged: Bool = false, owner: Int, generation: Int = 0) {
        type = ObjectIdentifier(E.self)
        self.isPaged = isPaged
        if let value = endpoint as? any Hashable {
            (identity, self.owner) = (.value(AnyHashable(value)), nil)
        } else {
            let parts = Parts(endpoint)
            identity = .parts(parts)
            let isComparable = if case .none = endpoint.body.content { parts.path != nil } else { false }
            self.owner = isComparable ? nil : Owner(number: owner, generation: generation)
        }
    }

    /// Whether models may share the request.
    var isShared: Bool { owner == nil }

    func isOf(_ type: (some Endpoint).Type) -> Bool { self.type == ObjectIdentifier(type) }
}
