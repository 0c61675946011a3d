// SPDX-License-Identifier: MIT

public import PulseCore

/// Where an ``AuthPlugin`` gets its tokens from: the app's session, its keychain, its identity provider.
///
/// Every member is called concurrently, from any thread. By the time ``refreshToken()`` returns, ``accessToken()`` gives
/// the new token: calls ask anew each time, and whatever it gives is the truth.
public protocol TokenProvider: Sendable {
    /// The token of the moment; nil, or an empty one, if nobody is logged in. Asked once for every call (and redirect
    /// hop), so it should be quick: a value in memory, not a look into the keychain.
    func accessToken() async -> String?

    /// Gets a new token, keeps it, and gives it back. At most one runs at a time, in a task that no caller can cancel; it
    /// is cancelled after 30 s and by a shutdown. One that goes on nevertheless is what later calls wait for, 30 s each.
    ///
    /// Calls made within it, through the client that the plugin serves too, pass the plugin untouched; from a
    /// `Task.detached` or a queue they do not, unless they are ``RequestOptions/Auth/anonymous``.
    ///
    /// Throwing ``PulseError/unauthorized(_:)``, ``PulseError/sessionExpired``, or ``PulseError/http(_:)`` with status 400
    /// or 401 ends the session for good, unless ``accessToken()`` gives another token by then. Any other error counts as one
    /// that may pass; a cancellation of its own is ``PulseError/custom(_:)`` to the calls that wait.
    func refreshToken() async throws -> String

    /// The session cannot be refreshed any more: forget the tokens, show the login. Called once for each session that
    /// ends, when its calls have failed already. Nothing by default.
    func handleAuthenticationFailure() async

    /// Who is logged in: a stable identifier of the account, not of the session. Nil, the default, or an empty one if that is
    /// not known.
    ///
    /// With it, what is kept of answers is kept for each account, and no call is repeated on behalf of another.
    var accountID: String? { get async }

    /// When the token of the moment ends. Nil, the default, if that is not known: the server's 401 tells then.
    ///
    /// With it, the token is refreshed ahead, within its last 60 s, while calls go on with it.
    var tokenExpiry: Date? { get async }
}

extension TokenProvider {
    public func handleAuthenticationFailure() async {}

    public var accountID: String? {
        get async { nil }
    }

    public var tokenExpiry: Date? {
        get async { nil }
    }
}
