// SPDX-License-Identifier: MIT

extension PluginContext {
    /// Whose call it is: ``PluginContext/account``.
    ///
    /// The plugin that authenticates calls sets it once for each hop, before the inner plugins run. Code that keeps
    /// something for later calls reads it, so that no account gets what belongs to another: the cache, coalescing, the
    /// offline queue, downloads and uploads.
    public enum Account: Sendable, Hashable {
        /// No plugin has said yet, or none can say.
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
    /// Whose call it is. All hops, attempts and copies of a call share it.
    public var account: Account {
        get { store[AccountKey.self] ?? .unknown }
        nonmutating set { store[AccountKey.self] = newValue }
    }
}

extension Call {
    /// Whose call it is.
    package var account: PluginContext.Account {
        get { PluginContext.Store(call: self)[AccountKey.self] ?? .unknown }
        set { PluginContext.Store(call: self)[AccountKey.self] = newValue }
    }
}

/// The account that a call must be sent for; the call is never sent for another account. Code that resends an earlier
/// call sets it, since another user may have logged in meanwhile. Without it, a call is sent for the current user.
package enum ExpectedAccount: PluginContext.Key {
    package typealias Value = String
}
