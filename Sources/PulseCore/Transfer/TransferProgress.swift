// SPDX-License-Identifier: MIT

/// The progress of a body transfer.
public struct TransferProgress: Sendable, Hashable {
    /// The bytes transferred so far. Decreases only when ``attempt`` increases.
    public let completed: Int64
    /// The total number of bytes; nil if it is not known.
    public let total: Int64?
    /// The number of the attempt, counted from 1. A body that is transferred again from its start, such as after a
    /// retry, a token refresh or a redirect that keeps the body, is the next attempt.
    public let attempt: Int
    /// The rate of the last five seconds; nil until it covers a tenth of a second.
    public let bytesPerSecond: Double?

    /// Creates a progress value; both numbers are bytes.
    ///
    /// - Parameter bytesPerSecond: NaN, infinity, and a number that is not positive count as nil.
    public init(completed: Int64, total: Int64?, attempt: Int = 1, bytesPerSecond: Double? = nil) {
        self.completed = completed
        self.total = total
        self.attempt = attempt
        self.bytesPerSecond = bytesPerSecond.flatMap { $0 > 0 && $0 < .infinity ? $0 : nil }
    }

    /// The completed part, from 0 to 1; nil without a total. An empty body is complete.
    public var fraction: Double? {
        total.map { $0 > 0 ? min(max(Double(completed) / Double($0), 0), 1) : 1 }
    }

    /// The seconds until the transfer is complete at the current rate; nil if the total or the rate is not known.
    public var secondsLeft: TimeInterval? {
        guard let total, let bytesPerSecond else { return nil }
        return max(Double(total) - Double(completed), 0) / bytesPerSecond
    }
}
