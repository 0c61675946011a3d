// SPDX-License-Identifier: MIT

public import PulseCore

/// Where an ``AuthPlugin`` gets its tokens from: the app's session, its keychain, its identity provider.
///
/// Every member is called concurrently, from any thread. By the time ``refreshToken()`` returns, ``accessToken()`` must
/// give the new token: each call asks for it again. A class on the main actor conforms in an extension of its own, with
/// the members in the class.
public protocol TokenProvider: Sendable {
    /// The current token; nil, or an empty one, if nobody is logged in. Asked once for every call (and redirect hop),
    /// so it should be quick: a value in memory, not a look into the keychain. A call of the same client within it, or
    /// within ``accountID`` or ``tokenExpiry``, must be ``RequestOptions/Auth/anonymous``: it would ask for the token
    /// again, without end.
    func accessToken() async -> String?

    /// Gets a new token, keeps it, and returns it. At most one runs at a time, in a task that no caller can cancel; it
    /// is cancelled after 30 s, and by a shutdown while no call waits for it. If it goes on nevertheless, later calls
    /// wait for it, 30 s each.
    ///
    /// Calls made within it, through the client that the plugin serves too, pass the plugin untouched; from a
    /// `Task.detached` or a queue they do not, unless they are ``RequestOptions/Auth/anonymous``.
    ///
    /// Throwing ``PulseError/unauthorized(_:)``, ``PulseError/sessionExpired``, or ``PulseError/http(_:)`` with status
    /// 400 or 401 ends the session for good, unless ``accessToken()`` gives another token by then. Any other error
    /// counts as one that may pass; a cancellation of its own is ``PulseError/custom(_:)`` to the calls that wait.
    func refreshToken() async throws -> String

    /// Called when the session cannot be refreshed any more: forget the tokens, show the login. Once for each session
    /// that ends, after its calls have failed. The default does nothing.
    func handleAuthenticationFailure() async

    /// A stable identifier of the account that is logged in, not of the session. Nil, the default, or an empty text if
    /// it is not known.
    ///
    /// With it, stored answers are kept apart by account, and no call is repeated on behalf of another one.
    var accountID: String? { get async }

    /// When the current token expires. Nil, the default, if that is not known: then the server's 401 tells.
    ///
    /// With it, the token is refreshed ahead, within its last 60 s, while calls go on with it.
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
