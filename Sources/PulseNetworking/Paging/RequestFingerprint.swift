// SPDX-License-Identifier: MIT

import PulseCore

/// 128 bits in place of a request, since a walk through pages may have any number of them. No server knows the hashers'
/// seed.
struct RequestFingerprint: Hashable, Sendable {
    private let first: Int
    private let second: Int

    /// Nil for the body of a file or a stream, which has no bytes to compare.
    ///
    /// - Parameter endpoint: that of the request. Header fields that it gives another value each time, as an id of the
    ///   request or its time, tell no requests apart.
    init?(_ request: BuiltRequest, of endpoint: some Endpoint) {
        guard case .inRequest = request.body else { return nil }
        let (headers, others) = (endpoint.headers, endpoint.headers)
        let fields = request.urlRequest.allHTTPHeaderFields?.filter { field in
            !headers.contains { $0.key.equalsIgnoringASCIICase(field.key) && $0.value != others[$0.key] }
        }
        func hash(_ salt: Int) -> Int {
            let request = request.urlRequest
            var hasher = Hasher()
            hasher.combine(salt)
            hasher.combine(request.httpMethod)
            hasher.combine(request.url?.absoluteString)
            hasher.combine(fields)
            // Foundation's own hash of data and URLs reads their beginning only.
            request.httpBody?.withUnsafeBytes { hasher.combine(bytes: $0) }
            return hasher.finalize()
        }
        first = hash(1)
        second = hash(2)
    }
}
