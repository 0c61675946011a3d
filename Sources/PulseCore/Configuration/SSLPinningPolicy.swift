// SPDX-License-Identifier: MIT

/// The pinned public keys of servers, checked in addition to the system's trust (RFC 7469, section 2.4 defines the form
/// of a pin).
///
/// ```swift
/// configuration.sslPinningPolicy = .publicKeyHashes([currentPin, backupPin]).hosts("api.example.com")
/// ```
///
/// The normal verification comes first. Then one of the pinned keys must be in the verified chain, at any position. Pin
/// at least two keys, one of them a backup: a policy with fewer emits a ``NetworkEvent/warning(_:)``.
public struct SSLPinningPolicy: Sendable, Hashable {
    /// The hosts that the pins are for: `api.example.com`, `*.example.com` (exactly one more label), `**.example.com`
    /// (any number of additional labels, or none). Empty means every host. A pattern of another form fails every
    /// request with ``PulseError/invalidRequest(reason:)``.
    public var hosts: [String]
    /// The pins: `sha256/` and the base64 of the SHA-256 of a key's SubjectPublicKeyInfo.
    public var publicKeyHashes: [String]
    /// DER certificates whose keys are pinned.
    public var certificates: [Data]
    /// Whether a mismatch only emits ``NetworkEvent/pinningFailed(host:seen:)`` and lets the request proceed, for
    /// testing a policy. False by default.
    public var isReportOnly: Bool
    /// The date from which the pins are not enforced, so that an app that is never updated keeps working; nil, the
    /// default, for never.
    public var expires: Date?
    /// Whether an empty list of pins is an error; only ``disabled`` deliberately has none.
    private let needsPins: Bool

    private init(publicKeyHashes: [String], certificates: [Data], needsPins: Bool = true) {
        hosts = []
        self.needsPins = needsPins
        self.publicKeyHashes = publicKeyHashes
        self.certificates = certificates
        isReportOnly = false
        expires = nil
    }

    /// No pins: the default.
    public static let disabled = SSLPinningPolicy(publicKeyHashes: [], certificates: [], needsPins: false)

    /// Pins public keys by their hashes.
    ///
    /// A malformed hash fails every request to the hosts with ``PulseError/invalidRequest(reason:)``: a typo never
    /// disables pinning.
    public static func publicKeyHashes(_ hashes: [String]) -> SSLPinningPolicy {
        SSLPinningPolicy(publicKeyHashes: hashes, certificates: [])
    }

    /// Pins the public keys of DER certificates.
    public static func certificates(_ certificates: [Data]) -> SSLPinningPolicy {
        SSLPinningPolicy(publicKeyHashes: [], certificates: certificates)
    }

    /// Returns the same pins for the given hosts only.
    public func hosts(_ patterns: String...) -> SSLPinningPolicy {
        hosts(patterns)
    }

    /// Returns the same pins for the given hosts only, in place of any set before.
    public func hosts(_ patterns: [String]) -> SSLPinningPolicy {
        changed { $0.hosts = patterns }
    }

    /// Returns the same pins in report-only mode: mismatches are reported but not enforced.
    public func reportOnly() -> SSLPinningPolicy {
        changed { $0.isReportOnly = true }
    }

    /// Returns the same pins, enforced until a date.
    public func expires(_ date: Date) -> SSLPinningPolicy {
        changed { $0.expires = date }
    }

    /// The pins for a host at a time, or nil if there are none.
    package func pinSet(forHost host: String, now: Date) throws -> PinSet? {
        guard isEnabled, !hasExpired(by: now) else { return nil }
        for pattern in hosts where !Self.isPattern(pattern) {
            throw PulseError.invalidRequest(reason: "`sslPinningPolicy` has a pattern that is no host: \(pattern)")
        }
        // A trailing dot names the same host.
        let host = host.hasSuffix(".") ? String(host.dropLast()) : host
        guard hosts.isEmpty || hosts.contains(where: { Self.matches(host, $0) }) else { return nil }
        let hashes = try publicKeyHashes.map(Self.canonical)
        guard !publicKeyHashes.isEmpty || !certificates.isEmpty else {
            throw PulseError.invalidRequest(reason: "`sslPinningPolicy` has no pin")
        }
        return PinSet(
            publicKeyHashes: Set(hashes), certificates: certificates, isReportOnly: isReportOnly)
    }

    /// The canonical form of a pin. Base64 can encode the same bytes in several ways, and pins are compared as text.
    private static func canonical(_ hash: String) throws -> String {
        guard hash.hasPrefix("sha256/"), let bytes = Data(base64Encoded: String(hash.dropFirst(7))), bytes.count == 32
        else {
            throw PulseError.invalidRequest(
                reason: "`sslPinningPolicy` has a pin that is not sha256/ and the base64 of 32 bytes: \(hash)")
        }
        return "sha256/" + bytes.base64EncodedString()
    }

    /// The problems of the policy that a developer should know about.
    package func problems(now: Date) -> [String] {
        guard isEnabled else { return [] }
        var problems: [String] = []
        if Set(publicKeyHashes).count + Set(certificates).count < 2 {
            problems.append("a pinning policy with fewer than two pins locks users out when the key changes")
        }
        if hasExpired(by: now) { problems.append(Self.expiryWarning) }
        return problems
    }

    package static let expiryWarning = "the pinning policy has expired and is not enforced"

    package func hasExpired(by now: Date) -> Bool {
        isEnabled && expires.map { now >= $0 } ?? false
    }

    private var isEnabled: Bool {
        needsPins || !publicKeyHashes.isEmpty || !certificates.isEmpty
    }

    /// Whether the pattern is a name or an address, with at most one wildcard before it. Anything else would match no
    /// host and so pin nothing.
    private static func isPattern(_ pattern: String) -> Bool {
        let wildcard = ["**.", "*."].first { pattern.hasPrefix($0) } ?? ""
        let name = pattern.utf8.dropFirst(wildcard.utf8.count)
        let colons = name.count { $0 == UInt8(ascii: ":") }
        return !name.isEmpty && (colons == 0 || colons > 1 && wildcard.isEmpty)
            && name.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "-_.:".utf8.contains($0) }
    }

    private static func matches(_ host: String, _ pattern: String) -> Bool {
        let (host, pattern) = (host.asciiLowercased, pattern.asciiLowercased)
        if pattern.hasPrefix("**.") {
            return host == pattern.dropFirst(3) || host.hasSuffix(pattern.dropFirst(2))
        }
        guard pattern.hasPrefix("*.") else { return host == pattern }
        guard let dot = host.firstIndex(of: "."), dot != host.startIndex else { return false }
        return host[dot...] == pattern.dropFirst(1)
    }

    private func changed(_ change: (inout SSLPinningPolicy) -> Void) -> SSLPinningPolicy {
        var copy = self
        change(&copy)
        return copy
    }
}
