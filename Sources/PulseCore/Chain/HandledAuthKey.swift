// SPDX-License-Identifier: MIT

/// Whether an authentication plugin has handled the call, although the request carries no credential yet. The server
/// may have to send a challenge first, or the call is itself part of a token refresh. False if the call needs a
/// credential and no plugin provides one.
package enum HandledAuthKey: PluginContext.Key {
    package typealias Value = Bool
}
