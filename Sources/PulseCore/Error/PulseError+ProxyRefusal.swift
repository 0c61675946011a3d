// SPDX-License-Identifier: MIT

extension PulseError {
    /// A proxy's refusal to connect a request to its host. Nothing of the request was sent, and the proxy would also
    /// refuse another attempt.
    ///
    /// A request that an HTTP proxy forwards without a tunnel is never refused this way: the proxy's response is its
    /// response.
    public struct ProxyRefusal: Sendable, Hashable {
        /// Why a proxy refuses.
        public enum Reason: Sendable, Hashable {
            /// The status of an HTTP proxy's response to CONNECT (RFC 9110, section 9.3.6): 407 if it requires other
            /// credentials.
            case status(Int)
            /// The reply code of a SOCKS proxy (RFC 1928, section 6): 2 if its rules do not allow the connection.
            case socksReply(Int)
            /// A SOCKS proxy rejects the credentials, or requires some.
            case socksCredentials
            /// The system gives no reason.
            case unknown
        }

        /// The proxy's host and port, such as `proxy.test:3128`, without its credentials; nil if the system does not
        /// report them.
        public let proxy: String?
        /// Why the proxy refuses.
        public let reason: Reason

        /// Creates a refusal by the proxy with that host and port.
        public init(proxy: String?, reason: Reason) {
            self.proxy = proxy
            self.reason = reason
        }

        /// The status of an HTTP proxy's response; nil for another kind of proxy, or if the system does not report it.
        public var statusCode: Int? {
            if case .status(let status) = reason { status } else { nil }
        }
    }
}

extension PulseError.ProxyRefusal: CustomStringConvertible {
    /// The proxy and its reason, such as `the proxy proxy.test:3128 refused the connection: status 407`.
    public var description: String {
        "the proxy \(proxy.map { "\($0) " } ?? "")refused the connection" + (reason.text.map { ": \($0)" } ?? "")
    }
}

extension PulseError.ProxyRefusal.Reason {
    fileprivate var text: String? {
        switch self {
        case .status(let status): "status \(status)"
        case .socksReply(let reply): "SOCKS reply \(reply)" + (Self.replies[reply].map { ", \($0)" } ?? "")
        case .socksCredentials: "it rejects the credentials"
        case .unknown: nil
        }
    }

    private static let replies = [
        1: "general failure", 2: "not allowed by its rules", 3: "network unreachable", 4: "host unreachable",
        5: "connection refused", 6: "TTL expired", 7: "command not supported", 8: "address type not supported",
    ]
}
