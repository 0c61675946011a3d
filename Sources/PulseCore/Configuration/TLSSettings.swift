// SPDX-License-Identifier: MIT

/// How connections are secured, beyond the system's defaults.
public struct TLSSettings: Sendable, Hashable {
    /// A version of TLS.
    public enum Version: Int, Sendable, Hashable, Comparable {
        /// TLS 1.2 (RFC 5246) and TLS 1.3 (RFC 8446).
        case tls12, tls13

        public static func < (left: Version, right: Version) -> Bool { left.rawValue < right.rawValue }
    }

    /// A certificate with its private key, which the client presents to a server that asks for one.
    public struct ClientCertificate: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// The certificate and key in PKCS #12 (RFC 7292).
        public var data: Data
        /// The password of ``data``.
        public var password: String

        /// Creates a client certificate from the bytes of a PKCS #12 file. Nothing is checked until it is used.
        public init(pkcs12 data: Data, password: String) {
            self.data = data
            self.password = password
        }

        public var description: String { "a client certificate of \(data.count) bytes" }
        public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
    }

    /// The authorities that are trusted instead of the system's, in DER or PEM, one or more certificates each. Empty,
    /// the default, trusts the system's authorities.
    public var certificateAuthorities: [Data]
    /// The certificate for servers that ask for one; nil by default.
    public var clientCertificate: ClientCertificate?
    /// The minimum TLS version that is accepted; TLS 1.2 by default.
    public var minimumVersion: Version

    /// Creates settings; without arguments, the ``default``.
    public init(
        certificateAuthorities: [Data] = [], clientCertificate: ClientCertificate? = nil,
        minimumVersion: Version = .tls12
    ) {
        self.certificateAuthorities = certificateAuthorities
        self.clientCertificate = clientCertificate
        self.minimumVersion = minimumVersion
    }

    /// The system's authorities, no client certificate, and TLS 1.2 or later.
    public static let `default` = TLSSettings()
}
