// SPDX-License-Identifier: MIT

extension PulseConfiguration {
    /// The versions of HTTP that a client speaks.
    public enum HTTPVersions: Sendable, Hashable {
        /// The newest version that the transport and the server have in common: on Linux HTTP/2 over TLS where the
        /// server offers it (ALPN, RFC 7301), else HTTP/1.1. The default.
        case automatic
        /// HTTP/1.1 only: each request in progress needs a connection. A transport that cannot be restricted refuses
        /// the request with ``PulseError/unsupported(_:)``.
        case http1
    }
}
