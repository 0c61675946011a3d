// SPDX-License-Identifier: MIT

public import PulseCore

extension MockServer {
    /// A certificate with its private key, with which a server speaks TLS: see ``Configuration/tls``.
    ///
    /// ```swift
    /// let identity = try MockServer.TLSIdentity.generated()
    /// let server = try await MockServer.start(.init(tls: identity))
    /// let client = PulseClient(
    ///     configuration: PulseConfiguration(baseURL: server.baseURL).with(\.tls, value: identity.clientSettings))
    /// ```
    public struct TLSIdentity: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// The certificate in PEM, with those behind it that lead to an authority.
        public let certificates: Data
        /// The certificate in PEM that a client trusts, or several; those of clients are verified with it, too.
        public let authority: Data
        /// A certificate with its key, issued by ``authority``, for a client that is asked for one; nil in an identity
        /// that was not generated.
        public let clientCertificate: TLSSettings.ClientCertificate?
        let key: Data

        /// An identity from PEM texts (RFC 7468). Nothing is read before a server starts with it.
        ///
        /// - Parameters:
        ///   - key: without a password.
        ///   - authority: nil for `certificates`.
        public init(certificates: Data, key: Data, authority: Data? = nil) {
            self.init(certificates: certificates, key: key, authority: authority ?? certificates, client: nil)
        }

        private init(certificates: Data, key: Data, authority: Data, client: TLSSettings.ClientCertificate?) {
            self.certificates = certificates
            self.key = key
            self.authority = authority
            clientCertificate = client
        }

        /// What a client needs to trust this identity: its authority, in place of the system's.
        public var clientSettings: TLSSettings { TLSSettings(certificateAuthorities: [authority]) }

        public var description: String { "a TLS identity of \(certificates.count) bytes" }
        public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
    }
}

extension MockServer.TLSIdentity {
    /// The names of a server on the loopback interface.
    public static let loopbackNames = ["localhost", "127.0.0.1", "::1"]

    /// An identity with keys and an authority of its own, made in this process and kept nowhere else.
    ///
    /// - Parameters:
    ///   - names: host names and IP addresses for which the certificate is valid. With others than the server's a
    ///     client refuses it.
    ///   - validity: the seconds from now in which the certificates are valid; from a day ago for 30 days by default.
    ///     A range that is over makes a certificate that has expired.
    ///
    /// Throws ``PulseCore/PulseError/unsupported(_:)`` where the system has no libssl, as on Apple's platforms, and
    /// ``PulseCore/PulseError/invalidRequest(reason:)`` for a name that is neither a host's nor an IP address.
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

    /// Nothing else, since the list of names is a text in which commas and colons have a meaning.
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
        // A hundred years, which every form of date in a certificate holds.
        self = Int(Swift.max(-3_155_760_000, Swift.min(3_155_760_000, seconds.isNaN ? 0 : seconds)))
    }
}
