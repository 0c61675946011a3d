// SPDX-License-Identifier: MIT

import PulseCore

/// A 128-bit hash of a request, 64-bit where `Int` has 32 bits, since an iteration may send any number of requests.
/// Servers cannot forge a collision, because they do not know the hashers' seed.
package struct RequestFingerprint: Hashable, Sendable {
    private let first: Int
    private let second: Int

    /// Nil for the body of a file or a stream, which has no bytes to compare.
    ///
    /// - Parameter endpoint: the request's endpoint. Header fields whose value it changes each time, such as a request
    ///   id or a timestamp, are ignored.
    package init?(_ request: BuiltRequest, of endpoint: some Endpoint) {
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
