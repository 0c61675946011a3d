// SPDX-License-Identifier: MIT

extension PluginContext {
    /// The account that a call belongs to: ``PluginContext/account``.
    ///
    /// The plugin that authenticates calls sets it once for each hop, before the inner plugins run. Code that stores
    /// something for later calls reads it to keep accounts apart: the cache, coalescing, the offline queue, downloads
    /// and uploads.
    public enum Account: Sendable, Hashable {
        /// No plugin has set the account yet, or none can.
        case unknown
        /// The call belongs to no account: no user is logged in, or the call does not authenticate.
        case none
        /// The account's identifier, as the app's token provider names it.
        case known(String)

        /// An empty identifier counts as none: otherwise all unknown users would share it.
        package init(provided identifier: String?) {
            self = identifier.flatMap { $0.isEmpty ? nil : .known($0) } ?? .none
        }

        /// The identifier of a known account; nil otherwise.
        public var identifier: String? {
            if case .known(let identifier) = self { identifier } else { nil }
        }
    }
}

// Not the type itself: `store[…] = .none` would mean nil.
private enum AccountKey: PluginContext.Key {
    typealias Value = PluginContext.Account
}

extension PluginContext {
    /// The account that the call belongs to. All hops, attempts and copies of a call share it.
    public var account: Account {
        get { store[AccountKey.self] ?? .unknown }
        nonmutating set { store[AccountKey.self] = newValue }
    }
}

extension Call {
    /// The account that the call belongs to.
    package var account: PluginContext.Account {
        get { PluginContext.Store(call: self)[AccountKey.self] ?? .unknown }
        set { PluginContext.Store(call: self)[AccountKey.self] = newValue }
    }
}

/// The account that a call must use; the call is never sent for another account. Code that resends an earlier call sets
/// it, since another user may have logged in meanwhile. Without it, a call uses the current account.
package enum ExpectedAccount: PluginContext.Key {
    package typealias Value = String
}
