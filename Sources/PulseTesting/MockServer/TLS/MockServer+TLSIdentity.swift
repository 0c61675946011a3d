// SPDX-License-Identifier: MIT

public import PulseCore

extension MockServer {
    /// A certificate with its private key, for a TLS server: see ``Configuration/tls``.
    ///
    /// ```swift
    /// let identity = try MockServer.TLSIdentity.generated()
    /// let server = try await MockServer.start(.init(tls: identity))
    /// let client = PulseClient(
    ///     configuration: PulseConfiguration(baseURL: server.baseURL).with(\.tls, value: identity.clientSettings))
    /// ```
    public struct TLSIdentity: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// The certificate in PEM, followed by its chain up to an authority.
        public let certificates: Data
        /// The certificate in PEM that a client trusts, or several; they also verify client certificates.
        public let authority: Data
        /// A client certificate with its key, issued by ``authority``, for a server that asks for one; nil in an
        /// identity that was not generated.
        public let clientCertificate: TLSSettings.ClientCertificate?
        package let key: Data

        /// Creates an identity from PEM texts (RFC 7468). They are parsed when a server starts with the identity.
        ///
        /// - Parameters:
        ///   - key: the private key, without a password.
        ///   - authority: what clients trust; nil for `certificates`.
        public init(certificates: Data, key: Data, authority: Data? = nil) {
            self.init(certificates: certificates, key: key, authority: authority ?? certificates, client: nil)
        }

        private init(certificates: Data, key: Data, authority: Data, client: TLSSettings.ClientCertificate?) {
            self.certificates = certificates
            self.key = key
            self.authority = authority
            clientCertificate = client
        }

        /// The settings of a client that trusts this identity: its authority, in place of the system's.
        public var clientSettings: TLSSettings { TLSSettings(certificateAuthorities: [authority]) }

        public var description: String { "a TLS identity of \(certificates.count) bytes" }
        public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
    }
}

extension MockServer.TLSIdentity {
    /// The names of a server on the loopback interface.
    public static let loopbackNames = ["localhost", "127.0.0.1", "::1"]

    /// Generates an identity with its own keys and authority, in this process and stored nowhere else.
    ///
    /// - Parameters:
    ///   - names: host names and IP addresses for which the certificate is valid. A client refuses a server with other
    ///     names.
    ///   - validity: the validity period in seconds from now; by default from a day ago until 30 days from now. A range
    ///     in the past makes an expired certificate.
    ///
    /// Throws ``PulseCore/PulseError/unsupported(_:)`` if the system has no libssl, as on Apple's platforms, and
    /// ``PulseCore/PulseError/invalidRequest(reason:)`` for a name that is neither a host name nor an IP address.
    public static func generated(
        names: [String] = loopbackNames, validity: Range<TimeInterval> = -86_400..<2_592_000
    ) throws -> Self {
        guard !names.isEmpty, names.allSatisfy(isName) else {
            throw PulseError.invalidRequest(reason: "a TLS identity needs names of hosts or IP addresses")
        }
        let parts = try TLSLibrary.generate(
            names: names.map { (isAddress($0) ? "IP:" : "DNS:") + $0 }.joined(separator: ","),
            start: Int(clamping: validity.lowerBound), end: Int(clamping: validity.upperBound))
        return Self(
            certificates: parts.certificate, key: parts.key, authority: parts.authority,
            client: TLSSettings.ClientCertificate(pkcs12: parts.client, password: TLSLibrary.clientPassword))
    }

    /// Other characters are refused, because a comma separates names in the list.
    private static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "*"),
                    UInt8(ascii: ":"):
                    true
                default: false
                }
            }
    }

    private static func isAddress(_ name: String) -> Bool {
        name.contains(":") || name.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
    }
}

extension Int {
    fileprivate init(clamping seconds: TimeInterval) {
        // A hundred years, which every date format of a certificate can hold.
        self = Int(Swift.max(-3_155_760_000, Swift.min(3_155_760_000, seconds.isNaN ? 0 : seconds)))
    }
}
