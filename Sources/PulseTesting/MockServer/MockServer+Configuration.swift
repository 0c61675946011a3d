// SPDX-License-Identifier: MIT

public import PulseCore

extension MockServer {
    /// Address, limits and TLS of a server.
    ///
    /// ```swift
    /// let configuration = MockServer.Configuration(sends100Continue: false, receiveBufferSize: 4096)
    /// let server = try await MockServer.start(configuration)
    /// ```
    public struct Configuration: Sendable, Hashable {
        /// A loopback address.
        public enum Host: Sendable, Hashable {
            /// 127.0.0.1
            case ipv4
            /// ::1
            case ipv6
        }

        /// The policy of a TLS server for client certificates.
        public enum ClientCertificates: Sendable, Hashable {
            /// Asks for none.
            case ignored
            /// Asks for one, and accepts a client without one.
            case requested
            /// Asks for one issued by the authority of the server's identity, and refuses a client without one.
            case required
        }

        /// The address to listen on; 127.0.0.1 by default.
        public var host: Host
        /// The limit of the request line and all header fields in bytes, 64 KiB by default. A larger request gets a
        /// 431.
        public var maxHeadSize: Int
        /// The maximum number of recorded bytes of a body, 64 MiB by default. Of a longer body only the first bytes are
        /// recorded, but all are counted.
        public var maxRecordedBodySize: Int
        /// Whether the server responds to `Expect: 100-continue` with `100 Continue` before it reads the body; true by
        /// default.
        public var sends100Continue: Bool
        /// The size in bytes of the system's receive buffer; nil, the default, for the system's choice. With a small
        /// one a client notices a slow reader early.
        public var receiveBufferSize: Int?
        /// The size in bytes of the system's send buffer; nil, the default, for the system's choice.
        public var sendBufferSize: Int?
        /// The maximum number of connections that the system queues until they are accepted, 4096 by default.
        public var backlog: Int
        /// The identity of a TLS server; nil, the default, for a server without TLS. Needs the system's libssl, which
        /// is available on Linux only.
        public var tls: TLSIdentity?
        /// The versions of TLS that are offered; 1.2 and 1.3 by default.
        public var tlsVersions: ClosedRange<TLSSettings.Version>
        /// The policy for client certificates over TLS; by default the server asks for none.
        public var clientCertificates: ClientCertificates
        /// Whether ALPN selects `h2` for clients that offer it, for scripts that write HTTP/2 by hand.
        package var agreesOnHTTP2 = false

        /// A configuration with these limits; the defaults suit most tests.
        public init(
            host: Host = .ipv4, maxHeadSize: Int = 64 << 10, maxRecordedBodySize: Int = 64 << 20,
            sends100Continue: Bool = true, receiveBufferSize: Int? = nil, sendBufferSize: Int? = nil,
            backlog: Int = 4096, tls: TLSIdentity? = nil,
            tlsVersions: ClosedRange<TLSSettings.Version> = .tls12 ... .tls13,
            clientCertificates: ClientCertificates = .ignored
        ) {
            self.host = host
            self.maxHeadSize = maxHeadSize
            self.maxRecordedBodySize = maxRecordedBodySize
            self.sends100Continue = sends100Continue
            self.receiveBufferSize = receiveBufferSize
            self.sendBufferSize = sendBufferSize
            self.backlog = backlog
            self.tls = tls
            self.tlsVersions = tlsVersions
            self.clientCertificates = clientCertificates
        }
    }
}
