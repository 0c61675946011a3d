// SPDX-License-Identifier: MIT

import PulseCore

/// 128 bits in place of a request, since a walk through pages may have any number of them. No server knows the hashers'
/// seed.
struct RequestFingerprint: Hashable, Sendable {
    private let first: Int
    private let second: Int

    /// Nil for the body of a file or a stream, which has no bytes to compare.
    init?(_ request: BuiltRequest) {
        guard case .inRequest = request.body else { return nil }
        func hash(_ salt: Int) -> Int {
            let request = request.urlRequest
            var hasher = Hasher()
            hasher.combine(salt)
            hasher.combine(request.httpMethod)
            hasher.combine(request.url?.absoluteString)
            hasher.combine(request.allHTTPHeaderFields)
            // Foundation's own hash of data and URLs reads their beginning only.
            request.httpBody?.withUnsafeBytes { hasher.combine(bytes: $0) }
            return hasher.finalize()
        }
        first = hash(1)
        second = hash(2)
    }
}
