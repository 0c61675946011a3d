// SPDX-License-Identifier: MIT

extension PulseError {
    /// The error of a call that was made for one account while another, or none, is now logged in. Sending it would let
    /// one user act as another.
    ///
    /// It is thrown inside ``PulseError/custom(_:)`` and never retried; nothing was sent for the other account.
    public struct AccountMismatch: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
        /// Creates the error.
        public init() {}

        public var description: String { "the call was made for another account than the one that is logged in" }
        public var errorDescription: String? { description }
    }
}
