// SPDX-License-Identifier: MIT

extension SignatureVerifier {
    /// The result of a verification.
    public enum Verdict: Sendable, Hashable {
        /// The signature and the timestamp are valid, and no replay was detected.
        case accepted
        /// The request must not be served, for this reason.
        case refused(Reason)

        /// Whether the request was accepted.
        public var isAccepted: Bool { self == .accepted }
    }

    /// Why a request was rejected: for the server's own log. Tell the client no more than 401.
    public enum Reason: Sendable, Hashable {
        /// The signature, the timestamp or a required nonce is missing.
        case missing
        /// The signature is not 64 hexadecimal digits, the timestamp is not a number, the nonce is not a token, a part
        /// holds a `|`, the target has a fragment, or a header is repeated.
        case malformed
        /// The request was signed longer ago than the tolerance, or before the oldest nonce that the full store still
        /// has.
        case tooOld
        /// The request was signed in the future, by more than the tolerance.
        case tooNew
        /// There is no secret for this key id, or none that is usable on this system.
        case unknownKey
        /// The request was signed with another secret, or changed on the way.
        case mismatch
        /// The request was accepted before.
        case replayed
    }
}
