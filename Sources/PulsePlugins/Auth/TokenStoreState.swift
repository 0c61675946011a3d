// SPDX-License-Identifier: MIT

import PulseCore

/// The tokens of a ``TokenStore`` in memory, and their relation to the stored ones.
struct TokenStoreState: Sendable {
    private(set) var tokens: TokenStore.Tokens?
    /// Whether the secret store was read, or a login or logout has made that unnecessary.
    private(set) var isRead = false
    /// Whether the secret store has the tokens, as far as this process knows.
    private(set) var isSaved = true
    /// The number of the session. A login, a logout and tokens of another process each begin a new one.
    private(set) var session = 0
    /// The content of the secret store when it was last read or written.
    private var stored: Data?
    private var failedSession: Int?
    private var failure: (any Error)?

    /// Records a login, or a logout if `tokens` is nil.
    mutating func begin(_ tokens: TokenStore.Tokens?) {
        change(tokens)
        session += 1
    }

    /// Sets refreshed tokens; returns false if their session is over.
    mutating func replace(with tokens: TokenStore.Tokens, in session: Int) -> Bool {
        guard session == self.session else { return false }
        change(tokens)
        return true
    }

    /// Records that the session could not be refreshed.
    mutating func fail(_ session: Int) {
        failedSession = session
    }

    /// Ends the session that could not be refreshed; returns false if another one has begun.
    mutating func endFailedSession() -> Bool {
        guard failedSession == session else { return false }
        begin(nil)
        return true
    }

    private mutating func change(_ tokens: TokenStore.Tokens?) {
        self.tokens = tokens
        isRead = true
        isSaved = false
    }

    // MARK: The secret store

    /// Records the content read from the secret store. It replaces the tokens if another process has changed it.
    mutating func didRead(_ data: Data?, _ tokens: TokenStore.Tokens?) {
        guard isSaved, !isRead || data != stored else { return }
        if isRead { session += 1 }
        isRead = true
        stored = data
        self.tokens = tokens
    }

    /// Records that the secret store has these tokens. There may already be later ones.
    mutating func didSave(_ data: Data?, _ tokens: TokenStore.Tokens?) {
        stored = data
        isSaved = tokens == self.tokens
    }

    mutating func note(_ failure: any Error) {
        self.failure = failure
    }

    /// Returns the last failure, and clears it.
    mutating func takeFailure() -> (any Error)? {
        defer { failure = nil }
        return failure
    }
}
