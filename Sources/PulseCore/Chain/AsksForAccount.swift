// SPDX-License-Identifier: MIT

/// A plugin that tells which account a call belongs to: by an ``AccountID``, or through ``AccountIsAsked`` if the call
/// belongs to none.
package protocol AsksForAccount: Sendable {
    /// Whether the plugin supports accounts; false if it was created without them.
    var asksForAccount: Bool { get }
    /// The account that a call to a home origin would be sent for now; nil if there is none.
    func account(for request: URLRequest, _ options: RequestOptions) async -> String?
}

/// Whether the plugin that knows about accounts was asked and knew none. Code that must distinguish this from a call
/// that failed earlier sets it to false first.
package enum AccountIsAsked: ContextKey {
    package typealias Value = Bool
}
