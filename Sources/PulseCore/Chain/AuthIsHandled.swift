// SPDX-License-Identifier: MIT

/// Whether a plugin that authenticates has seen to the call, though the request carries no credential yet: its server
/// may have to challenge it first, or the call is itself part of a token's refresh. False if the call needs a
/// credential and no plugin gives one.
package enum AuthIsHandled: ContextKey {
    package typealias Value = Bool
}
