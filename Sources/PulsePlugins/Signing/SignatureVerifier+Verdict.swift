// SPDX-License-Identifier: MIT

extension SignatureVerifier {
    /// What a verifier says of a request.
    public enum Verdict: Sendable, Hashable {
        case accepted
        case refused(Reason)

        public var isAccepted: Bool { self == .accepted }
    }

    /// Why a request was refused: for the server's own log. Tell the client no more than 401.
    public enum Reason: Sendable, Hashable {
        /// There is no signature, no timestamp, or no nonce where one is demanded.
        case missing
        /// A signature that is not 64 hexadecimal digits, a timestamp that is no number, a header that came twice.
        case malformed
        /// Signed longer ago than the tolerance.
        case tooOld
        /// Signed in the future, by more than the tolerance.
        case tooNew
        /// There is no secret for that key id, or none that can be used on this system.
        case unknownKey
        /// Signed with another secret, or changed on the way.
        case mismatch
        /// Accepted before.
        case replayed
    }
}
