// SPDX-License-Identifier: MIT

/// A plugin that identifies the account of a call. It sets ``PluginContext/account``, to ``PluginContext/Account/none``
/// if the call belongs to no account.
package protocol AccountIdentifying: Sendable {
    /// Whether the plugin supports accounts; false if it was created without them.
    var asksForAccount: Bool { get }
    /// The account that a call to a home origin would use now.
    func account(for request: URLRequest, _ options: RequestOptions) async -> PluginContext.Account
}

extension PluginContext {
    /// Records that the call has no account, unless an earlier hop has set one.
    package func noteNoAccount() {
        if account == .unknown { account = .none }
    }
}
