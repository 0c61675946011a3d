// SPDX-License-Identifier: MIT

/// A plugin that tells which account a call belongs to: it sets ``PluginContext/account``, to
/// ``PluginContext/Account/none`` if the call belongs to no account.
package protocol AsksForAccount: Sendable {
    /// Whether the plugin supports accounts; false if it was created without them.
    var asksForAccount: Bool { get }
    /// The account that a call to a home origin would be sent for now.
    func account(for request: URLRequest, _ options: RequestOptions) async -> PluginContext.Account
}

extension PluginContext {
    /// Notes that the call has no account, unless an earlier hop had one.
    package func noteNoAccount() {
        if account == .unknown { account = .none }
    }
}
