// SPDX-License-Identifier: MIT

public import PulseCore
import PulsePlatform
public import PulseStorage

/// A ``TokenProvider`` that keeps a session's tokens in memory and writes each change to a ``SecretStore``.
///
/// ```swift
/// let session = TokenStore(account: "session", in: FileSecretStore(directory: directory)) { refreshToken in
///     try await identity.request(RefreshTokens(refreshToken)).sessionTokens
/// }
/// let client = PulseClient(configuration: configuration, plugins: [.auth(session)])
/// if try await session.isLoggedIn { showFeed() } else { showLogin() }
/// ```
///
/// On Apple platforms, `TokenStore(account:service:)` keeps the tokens in the keychain.
///
/// - The secret store is read once, by the first call. If it cannot be read, the call fails with
///   ``PulseError/custom(_:)`` around the ``SecretStoreFailure``, and the next call reads again. That is not a logout.
/// - Refreshed tokens that cannot be written are used all the same, and ``AuthPlugin`` emits a
///   ``NetworkEvent/warning(_:)``. They are written with the next change, or by ``synchronize()``.
/// - Several processes, an app and its extension, may share the secret store. Each reads it again before a refresh and
///   after a failed one, and uses the tokens that another process has stored meanwhile. If two refresh at the same
///   time, both send the same refresh token: the server must tolerate this, or the process whose refresh fails uses the
///   other's result. A login or logout in one process reaches the other with its next refresh, or by ``synchronize()``.
public final class TokenStore: TokenProvider {
    private let account: String
    private let store: any SecretStore
    private let refresh: @Sendable (_ refreshToken: String) async throws -> Tokens
    private let onSessionEnd: @Sendable () async -> Void
    private let state = Locked(TokenStoreState())
    /// The store's functions run on it, one at a time: the last change is the last one written.
    private let queue = BlockingThreadPool(count: 1)

    /// - Parameters:
    ///   - account: the name of the tokens in the secret store.
    ///   - refresh: exchanges a refresh token for new tokens. Its errors count as those of
    ///     ``TokenProvider/refreshToken()``. A call of the client within it passes the ``AuthPlugin`` unchanged.
    ///   - onSessionEnd: runs when the session can no longer be refreshed, after its tokens were removed, for example
    ///     to show the login.
    public init(
        account: String, in store: any SecretStore,
        refresh: @escaping @Sendable (_ refreshToken: String) async throws -> Tokens,
        onSessionEnd: @escaping @Sendable () async -> Void = {}
    ) {
        self.account = account
        self.store = store
        self.refresh = refresh
        self.onSessionEnd = onSessionEnd
    }

    /// Starts a session with the tokens of a login, replacing any earlier session. Throws ``SecretStoreFailure`` if
    /// they could not be stored: then they are used until the process ends.
    public func logIn(_ tokens: Tokens) async throws {
        state.withLock { $0.begin(tokens) }
        try await queue.result { try self.save() }
    }

    /// Ends the session. Throws ``SecretStoreFailure`` if the stored tokens could not be removed: the next process
    /// would use them.
    public func logOut() async throws {
        state.withLock { $0.begin(nil) }
        try await queue.result { try self.save() }
    }

    /// Writes tokens that could not be written before, or else reads the tokens that another process has stored. Call
    /// it when an app that shares its secret store becomes active. Throws ``SecretStoreFailure``.
    public func synchronize() async throws {
        try await queue.result {
            if self.state.withLock({ $0.isSaved }) { try self.read() } else { try self.save() }
        }
    }

    /// Whether a user is logged in: whether there are tokens, valid or expired. Throws ``SecretStoreFailure`` if the
    /// secret store cannot be read, for example before the device's first unlock: that is not a logout.
    ///
    /// A session that the server has ended counts as logged in until a refresh fails.
    public var isLoggedIn: Bool {
        get async throws { try await tokens() != nil }
    }

    // MARK: TokenProvider

    /// The access token, from memory; nil if no user is logged in. Throws ``SecretStoreFailure``.
    public func accessToken() async throws -> String? {
        try await tokens()?.accessToken
    }

    /// The account of the session; nil if it is unknown, or the secret store cannot be read.
    public var accountID: String? {
        get async { try? await tokens()?.accountID }
    }

    /// When the access token expires; nil if it is unknown, or the secret store cannot be read.
    public var tokenExpiry: Date? {
        get async { try? await tokens()?.expiry }
    }

    /// Refreshes the session, unless another process has stored other tokens: then these are used.
    public func refreshToken() async throws -> String {
        let used = try await tokens()
        await noteFailure { try self.read() }
        let (tokens, session) = state.withLock { ($0.tokens, $0.session) }
        if let tokens, let used, tokens.accessToken != used.accessToken { return tokens.accessToken }
        guard let tokens, let refreshToken = tokens.refreshToken else {
            // Without earlier tokens, the user had already logged out.
            if used != nil { state.withLock { $0.fail(session) } }
            throw PulseError.sessionExpired
        }
        let new: Tokens
        do {
            new = tokens.refreshed(to: try await refresh(refreshToken))
        } catch {
            // Another process may have used the same refresh token. Only the store can show that, so a store that
            // cannot be read is not a logout.
            do {
                try await queue.result { try self.read() }
            } catch let failure as SecretStoreFailure where failure.mayPass {
                throw failure
            } catch {
                state.withLock { $0.note(error) }
            }
            let current = state.withLock { state in
                state.fail(session)
                return state.tokens
            }
            if let current, current.accessToken != tokens.accessToken { return current.accessToken }
            throw error
        }
        // Meanwhile the user may have logged out, or another user logged in.
        guard state.withLock({ $0.replace(with: new, in: session) }) else { throw PulseError.sessionExpired }
        await noteFailure { try self.save() }
        return new.accessToken
    }

    /// Removes the tokens and calls the closure, unless another session has begun.
    public func handleAuthenticationFailure() async {
        await noteFailure { try self.read() }
        guard state.withLock({ $0.endFailedSession() }) else { return }
        await noteFailure { try self.save() }
        await onSessionEnd()
    }

    // MARK: The secret store

    private func tokens() async throws -> Tokens? {
        let (isRead, tokens) = state.withLock { ($0.isRead, $0.tokens) }
        if isRead { return tokens }
        // A call that ends meanwhile does not wait for a store that hangs.
        return try await queue.read {
            if !self.state.withLock({ $0.isRead }) { try self.read() }
            return self.state.withLock { $0.tokens }
        }
    }

    /// Runs on the queue.
    private func read() throws {
        let data = try store.secret(for: account)
        let tokens = try data.map { data in
            guard let tokens = Tokens(encoded: data) else { throw SecretStoreFailure(.read, .damaged) }
            return tokens
        }
        state.withLock { $0.didRead(data, tokens) }
    }

    /// Runs on the queue.
    private func save() throws {
        let tokens = state.withLock { $0.tokens }
        let data = try tokens?.encoded()
        if let data { try store.setSecret(data, for: account) } else { try store.removeSecret(for: account) }
        state.withLock { $0.didSave(data, tokens) }
    }

    private func noteFailure(of body: @escaping @Sendable () throws -> Void) async {
        do {
            try await queue.result(body)
        } catch {
            state.withLock { $0.note(error) }
        }
    }
}

extension SecretStoreFailure {
    /// Whether a later attempt may succeed.
    fileprivate var mayPass: Bool {
        switch reason {
        case .notPrivate, .damaged, .invalidAccount, .tooLarge: false
        case .locked, .notPermitted, .noSpace, .system: true
        }
    }
}

extension TokenStore: NotesStoreFailures {
    func takeStoreFailure() -> (any Error)? {
        state.withLock { $0.takeFailure() }
    }
}

extension TokenStore: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the tokens and their account.
    public var description: String { "TokenStore" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A provider with failures that do not fail a refresh: ``AuthPlugin`` emits them as warnings.
protocol NotesStoreFailures: TokenProvider {
    /// Returns the last failure, and clears it.
    func takeStoreFailure() -> (any Error)?
}
