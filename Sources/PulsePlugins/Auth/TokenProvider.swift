// SPDX-License-Identifier: MIT

public import PulseCore

/// The source of an ``AuthPlugin``'s tokens, such as the app's session or its identity provider. ``TokenStore`` is an
/// implementation that keeps them in the keychain or a file.
///
/// Every member is called concurrently, from any thread. When ``refreshToken()`` returns, ``accessToken()`` must return
/// the new token: each call reads it again. A class on the main actor conforms in a separate extension, with the
/// members in the class.
public protocol TokenProvider: Sendable {
    /// The current token; nil or empty if no user is logged in. It is requested once for every call (and redirect hop),
    /// so it should be quick: a value in memory, not a keychain query. A call that it, ``accountID`` or ``tokenExpiry``
    /// makes through the same client must be ``RequestOptions/Auth/anonymous``. Otherwise it would request the token
    /// again, without end.
    ///
    /// Throw if the token cannot be read now, for example before a device's first unlock since boot. The call fails
    /// with that error, and the session continues.
    func accessToken() async throws -> String?

    /// Gets a new token, saves it, and returns it. At most one refresh runs at a time, in a task that no caller can
    /// cancel. It is cancelled after 30 s, and by a shutdown while no call waits for it. If it ignores the
    /// cancellation, later calls wait for it, 30 s each.
    ///
    /// Calls made within it, through a client with this plugin, pass the plugin unchanged. Calls from a `Task.detached`
    /// or a queue do not, unless they are ``RequestOptions/Auth/anonymous``.
    ///
    /// Throwing ``PulseError/unauthorized(_:)``, ``PulseError/sessionExpired``, or ``PulseError/http(_:)`` with status
    /// 400 or 401 ends the session for good, unless ``accessToken()`` returns another token by then. Any other error
    /// counts as temporary. For the waiting calls, a cancellation of the refresh itself is ``PulseError/custom(_:)``.
    func refreshToken() async throws -> String

    /// Called when the session can no longer be refreshed, for example to delete the tokens and show the login. It runs
    /// once for each session that ends, after its calls have failed. The default does nothing.
    func handleAuthenticationFailure() async

    /// A stable identifier of the logged-in account, not of the session. Nil, the default, or an empty string if it is
    /// unknown.
    ///
    /// With it, responses are stored separately for each account, and no call is resent for another account.
    var accountID: String? { get async }

    /// When the current token expires. Nil, the default, if that is unknown: then the server's 401 decides.
    ///
    /// With it, the token is refreshed ahead of time, within its last 60 s, while calls still use it.
    var tokenExpiry: Date? { get async }
}

extension TokenProvider {
    /// Does nothing.
    public func handleAuthenticationFailure() async {}

    /// Nil: the account is not known.
    public var accountID: String? {
        get async { nil }
    }

    /// Nil: the expiry is not known.
    public var tokenExpiry: Date? {
        get async { nil }
    }
}
