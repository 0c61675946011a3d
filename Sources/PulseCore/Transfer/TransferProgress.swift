// SPDX-License-Identifier: MIT

/// The progress of a body transfer, within one attempt of a call.
public struct TransferProgress: Sendable, Hashable {
    /// The bytes transferred so far.
    public let completed: Int64
    /// The total number of bytes; nil if it is not known.
    public let total: Int64?

    /// Creates a progress value; both numbers are bytes.
    public init(completed: Int64, total: Int64?) {
        self.completed = completed
        self.total = total
    }
}
