// SPDX-License-Identifier: MIT

extension RetryPolicy {
    /// Decides on failures that no field of ``RetryPolicy`` can express. It is set as ``RetryPolicy/decider``.
    ///
    /// ```swift
    /// struct ConflictDecider: RetryPolicy.Decider {
    ///     func delay(
    ///         after failure: PulseError, attempt: Int, proposed: TimeInterval?, in context: PluginContext
    ///     ) -> TimeInterval? { failure.statusCode == 409 && attempt == 1 ? 0.2 : proposed }
    /// }
    /// ```
    ///
    /// The decider has the last word on the delay that the policy proposes, with some exceptions. It cannot override
    /// the rule on methods and idempotency keys, bodies that can be sent only once, the number of attempts, the
    /// server's `Retry-After`, the deadline, and the retry budget.
    public protocol Decider: Sendable {
        /// Returns the seconds to wait before the next attempt, or nil to stop retrying.
        ///
        /// Called concurrently, for each failed attempt whose request may be resent. It should return quickly.
        ///
        /// - Parameter failure: why the attempt failed; a status that the call does not accept is a failure too.
        /// - Parameter attempt: the number of the attempt that failed, counted from 1.
        /// - Parameter proposed: the delay that the policy would choose, in seconds; nil if it would not retry.
        func delay(
            after failure: PulseError, attempt: Int, proposed: TimeInterval?, in context: PluginContext
        ) -> TimeInterval?
    }
}
