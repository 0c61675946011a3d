// SPDX-License-Identifier: MIT

/// A plugin that says whose a call is: by an ``AccountID``, or in ``AccountIsAsked`` if it is nobody's.
package protocol AsksForAccount: Sendable {
    /// False for one that was made without knowledge of accounts.
    var asksForAccount: Bool { get }
}

/// Whether the plugin that knows accounts was asked and knew of none: set to false by whoever wants to tell that from a
/// call that failed before.
package enum AccountIsAsked: ContextKey {
    package typealias Value = Bool
}
