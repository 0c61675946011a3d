// SPDX-License-Identifier: MIT

/// Which public keys a server must prove, beyond the system's trust (RFC 7469, section 2.4 has the form of a pin).
///
/// The normal verification comes first; then one of the pinned keys must be anywhere in the verified chain. Give at
/// least two pins, one of a key that is kept in reserve: a policy with fewer makes a ``NetworkEvent/warning(_:)``.
public struct SSLPinningPolicy: Sendable, Hashable {
    /// Which hosts the pins are for: `api.example.com`, `*.example.com` (one label more), `**.example.com` (any number,
    /// none included). None stands for every host. An international name is written in its `xn--` form.
    public var hosts: [String]
    /// `sha256/` and the base64 of the SHA-256 of a key's SubjectPublicKeyInfo.
    public var publicKeyHashes: [String]
    /// Certificates, DER, whose keys are pinned.
    public var certificates: [Data]
    /// A mismatch makes an event and lets the request go on: for trying out a policy.
    public var isReportOnly: Bool
    /// From then on the pins are not enforced, so that an app nobody updates goes on working.
    public var expires: Date?
    /// No pins are not the same as pinning switched off: a list that came out empty must not pass for that.
    private let isEnabled: Bool

    private init(isEnabled: Bool = true, publicKeyHashes: [String] = [], certificates: [Data] = []) {
        self.isEnabled = isEnabled
        hosts = []
        self.publicKeyHashes = publicKeyHashes
        self.certificates = certificates
        isReportOnly = false
        expires = nil
    }

    /// No pins: the default.
    public static let disabled = SSLPinningPolicy(isEnabled: false)

    /// Pins by hash. A list that is empty, or a hash or host pattern that is malformed, fails every https request with
    /// ``PulseError/invalidRequest(reason:)``: a typing error never switches pinning off.
    public static func publicKeyHashes(_ hashes: [String]) -> SSLPinningPolicy {
        SSLPinningPolicy(publicKeyHashes: hashes)
    }

    /// Pins by certificate, in DER.
    public static func certificates(_ certificates: [Data]) -> SSLPinningPolicy {
        SSLPinningPolicy(certificates: certificates)
    }

    /// The same pins for those hosts only.
    public func hosts(_ patterns: String...) -> SSLPinningPolicy {
        changed { $0.hosts = patterns }
    }

    /// The same pins, reported and not enforced.
    public func reportOnly() -> SSLPinningPolicy {
        changed { $0.isReportOnly = true }
    }

    /// The same pins, enforced until then.
    public func expires(_ date: Date) -> SSLPinningPolicy {
        changed { $0.expires = date }
    }

    /// The pins for a host at that time, or nil if there are none: for another host, or because they have expired.
    package func pinSet(forHost host: String, now: Date) throws -> PinSet? {
        guard isEnabled else { return nil }
        if let defect { throw PulseError.invalidRequest(reason: defect) }
        guard hosts.isEmpty || hosts.contains(where: { Self.matches(host, $0) }) else { return nil }
        if let expires, now >= expires { return nil }
        return PinSet(
            publicKeyHashes: Set(publicKeyHashes.compactMap(Self.normalized)), certificates: certificates,
            isReportOnly: isReportOnly)
    }

    /// What a developer should know about the policy.
    package func problems(now: Date) -> [String] {
        guard isEnabled else { return [] }
        var problems = [defect].compactMap { $0 }
        if Set(publicKeyHashes.compactMap(Self.normalized)).count + Set(certificates).count < 2 {
            problems.append("a pinning policy with fewer than two pins locks users out when the key changes")
        }
        if let expires, now >= expires { problems.append("the pinning policy has expired and is not enforced") }
        return problems
    }

    /// Why the policy cannot be enforced as it is.
    private var defect: String? {
        if let hash = publicKeyHashes.first(where: { Self.normalized($0) == nil }) {
            return "a pin is not sha256/ and the base64 of 32 bytes: \(hash)"
        }
        // A DER certificate is a SEQUENCE (RFC 5280, section 4.1); what is often given by mistake is PEM.
        if certificates.contains(where: { $0.first != 0x30 }) { return "a pinned certificate is not in DER form" }
        if publicKeyHashes.isEmpty, certificates.isEmpty { return "a pinning policy has no pins" }
        return hosts.first { !Self.isPattern($0) }.map { "a pinning policy's host pattern is malformed: \($0)" }
    }

    /// The hash as it is computed from a key: base64 has several spellings of the same bytes.
    private static func normalized(_ hash: String) -> String? {
        let prefix = "sha256/"
        guard hash.hasPrefix(prefix), let bytes = Data(base64Encoded: String(hash.dropFirst(prefix.count))),
            bytes.count == 32
        else { return nil }
        return prefix + bytes.base64EncodedString()
    }

    private static func isPattern(_ pattern: String) -> Bool {
        let name = pattern.hasPrefix("**.") ? pattern.dropFirst(3) : pattern.dropFirst(pattern.hasPrefix("*.") ? 2 : 0)
        // Colons: an IPv6 address.
        return !name.isEmpty && !name.hasPrefix(".")
            && name.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "-._:".utf8.contains($0) }
    }

    private static func matches(_ host: String, _ pattern: String) -> Bool {
        let (host, pattern) = (canonical(host), canonical(pattern))
        if pattern.hasPrefix("**.") {
            return host == pattern.dropFirst(3) || host.hasSuffix(pattern.dropFirst(2))
        }
        guard pattern.hasPrefix("*.") else { return host == pattern }
        guard let dot = host.firstIndex(of: "."), dot != host.startIndex else { return false }
        return host[dot...] == pattern.dropFirst(1)
    }

    /// In lower case and without the dot that may end a name: it is the same host with it, and has the same pins.
    private static func canonical(_ host: String) -> String {
        let host = host.asciiLowercased
        return host.hasSuffix(".") ? String(host.dropLast()) : host
    }

    private func changed(_ change: (inout SSLPinningPolicy) -> Void) -> SSLPinningPolicy {
        var copy = self
        change(&copy)
        return copy
    }
}

/// The pins that one request's server must satisfy.
public struct PinSet: Sendable, Hashable {
    public let publicKeyHashes: Set<String>
    public let certificates: [Data]
    public let isReportOnly: Bool

    public init(publicKeyHashes: Set<String>, certificates: [Data] = [], isReportOnly: Bool = false) {
        self.publicKeyHashes = publicKeyHashes
        self.certificates = certificates
        self.isReportOnly = isReportOnly
    }
}
