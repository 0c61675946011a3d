// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// The pins of a request as hashes, which all transports compare with the keys of a verified chain.
struct PinnedKeys: Sendable, Hashable {
    /// The result of a comparison. `seen` are the hashes of the chain's keys, leaf first.
    enum Verdict: Sendable, Hashable {
        case accepted
        /// None of the keys is pinned, and the policy is report-only.
        case reported(seen: [[UInt8]])
        /// None of the keys is pinned: nothing of the request may be sent.
        case refused(seen: [[UInt8]])
    }

    let hashes: Set<[UInt8]>
    let isReportOnly: Bool

    /// Throws ``PulseError/invalidRequest(reason:)`` for an unreadable pinned certificate.
    init(_ pins: SSLPinningPolicy.PinSet) throws {
        var hashes = Set(
            pins.publicKeyHashes.compactMap { Data(base64Encoded: String($0.dropFirst(7))).map { [UInt8]($0) } })
        for certificate in pins.certificates {
            do {
                guard let hash = try Self.keyHash(of: certificate) else {
                    throw PulseError.unsupported("pinned certificates on a system without SHA-256")
                }
                hashes.insert(hash)
            } catch let error as CertificateError {
                throw PulseError.invalidRequest(
                    reason: "`sslPinningPolicy` has a pinned certificate that is none in DER: \(error)")
            }
        }
        self.hashes = hashes
        isReportOnly = pins.isReportOnly
    }

    /// The verdict on a chain of certificates in DER, leaf first.
    ///
    /// - Parameter chain: the chain that the system has verified, not the one that the server has sent: anybody can
    ///   append a pinned certificate to that. An unreadable certificate matches no pin.
    func verdict(onChain chain: [Data]) -> Verdict {
        verdict(onKeys: chain.compactMap { try? Self.keyHash(of: $0) })
    }

    /// The verdict on the hashes of a verified chain's keys; an empty chain is refused.
    func verdict(onKeys keys: [[UInt8]]) -> Verdict {
        if keys.contains(where: hashes.contains) { return .accepted }
        return isReportOnly ? .reported(seen: keys) : .refused(seen: keys)
    }

    /// Nil if the system has no SHA-256.
    private static func keyHash(of certificate: Data) throws(CertificateError) -> [UInt8]? {
        let info = try CertificateReader.publicKeyInfo(of: certificate)
        return SystemHashes.library?.sha256(info)?.withUnsafeBytes { [UInt8]($0) }
    }
}

extension TransportRequest {
    /// Compares a verified chain with the pins of its connection, and emits the event if none matches. Throws
    /// ``PulseError/sslPinningFailed(host:)`` unless the pins are report-only, and for a connection opened without this
    /// request's pins.
    func check(_ chain: [Data], against keys: PinnedKeys?) throws(PulseError) {
        guard let keys else {
            if pins != nil { throw pinningFailure([]) }
            return
        }
        switch keys.verdict(onChain: chain) {
        case .accepted: break
        case .reported(let seen): tellUnpinned(seen)
        case .refused(let seen): throw pinningFailure(seen)
        }
    }

    /// Emits the event for a chain without a pinned key.
    func tellUnpinned(_ keys: [[UInt8]]) {
        guard let events, events.isActive else { return }
        let seen = keys.map { "sha256/" + Data($0).base64EncodedString() }
        events.emit(.pinningFailed(host: urlRequest.url?.host ?? "", seen: seen))
    }

    /// Emits the event for a refused chain and returns the error.
    func pinningFailure(_ keys: [[UInt8]]) -> PulseError {
        tellUnpinned(keys)
        return .sslPinningFailed(host: urlRequest.url?.host ?? "")
    }
}
