// SPDX-License-Identifier: MIT

/// A call was made for one account, and another, or none, is logged in by now: sending it, or sending it again, would
/// let one user act as another. Inside ``PulseError/custom(_:)``; never retried, and nothing was sent for the other one.
public struct AccountMismatch: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
    public init() {}

    public var description: String { "the call was made for another account than the one that is logged in" }
    public var errorDescription: String? { description }
}
