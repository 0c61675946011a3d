// SPDX-License-Identifier: MIT

/// A judgement on failures that no field of ``RetryPolicy`` expresses; it stands in ``RetryPolicy/decider``.
///
/// The policy proposes and the decider has the last word, within what no judgement lifts: the rule on methods and keys,
/// bodies that can be sent once, the number of attempts, the server's `Retry-After`, the deadline, the budget.
public protocol RetryDecider: Sendable {
    /// Seconds to wait before the next attempt, or nil to leave it at this failure. Called concurrently, for each failed
    /// attempt whose request may be repeated; should be quick.
    ///
    /// - Parameter failure: of the attempt; a status that the call does not accept is one.
    /// - Parameter attempt: the one that failed, counted from 1.
    /// - Parameter proposed: what the policy would do by itself.
    func delay(
        after failure: PulseError, attempt: Int, proposed: TimeInterval?, in context: PluginContext
    ) -> TimeInterval?
}
