// SPDX-License-Identifier: MIT

/// How connections are secured, beyond the system's defaults.
public struct TLSSettings: Sendable, Hashable {
    public enum Version: Int, Sendable, Hashable, Comparable {
        case tls12, tls13

        public static func < (left: Version, right: Version) -> Bool { left.rawValue < right.rawValue }
    }

    /// A certificate and its key, which the client shows to a server that asks.
    public struct ClientCertificate: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// PKCS #12.
        public var data: Data
        public var password: String

        public init(pkcs12 data: Data, password: String) {
            self.data = data
            self.password = password
        }

        public var description: String { "a client certificate of \(data.count) bytes" }
        public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
    }

    /// Trusted in place of the system's authorities unless empty; DER or PEM, one or more certificates each.
    public var certificateAuthorities: [Data]
    public var clientCertificate: ClientCertificate?
    public var minimumVersion: Version

    public init(
        certificateAuthorities: [Data] = [], clientCertificate: ClientCertificate? = nil,
        minimumVersion: Version = .tls12
    ) {
        self.certificateAuthorities = certificateAuthorities
        self.clientCertificate = clientCertificate
        self.minimumVersion = minimumVersion
    }

    /// The system's authorities, no client certificate, TLS 1.2 at least.
    public static let `default` = TLSSettings()
}
