// SPDX-License-Identifier: MIT

/// A plugin that says which account a call belongs to: by an ``AccountID``, or through ``AccountIsAsked`` if it belongs
/// to none.
package protocol AsksForAccount: Sendable {
    /// Whether the plugin knows about accounts; false for one that was made without them.
    var asksForAccount: Bool { get }
    /// The account that a call at home would go out for now, if it went out; nil if there is none.
    func account(for request: URLRequest, _ options: RequestOptions) async -> String?
}

/// Whether the plugin that knows about accounts was asked and knew none. Code that must tell this from a call that
/// failed earlier sets it to false first.
package enum AccountIsAsked: ContextKey {
    package typealias Value = Bool
}
