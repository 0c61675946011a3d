// SPDX-License-Identifier: MIT

public import PulseCore

/// Sends the provider's token with every call (RFC 6750, section 2.1). When the server rejects the token, the plugin
/// has it refreshed, once for all calls that need it, and resends each of them once.
///
/// ```swift
/// let session = TokenStore(account: "session", in: store) { refreshToken in
///     try await identity.request(RefreshTokens(refreshToken)).sessionTokens
/// }
/// let client = PulseClient(configuration: configuration, plugins: [.auth(session)])
/// ```
///
/// - A 401 that the call does not accept leads to a refresh. A second 401, after the refresh, is
///   ``PulseError/unauthorized(_:)``, as is a 401 to a call that was sent without a token.
/// - A failed refresh fails all waiting calls with the same error. The next refresh is tried after 1 s at the earliest,
///   then 2 s, up to 30 s. A session that can no longer be refreshed is ``PulseError/sessionExpired``. Later calls fail
///   with that error at once, until the provider returns another token.
/// - A call that is cancelled, or whose deadline passes, stops waiting; the refresh continues.
/// - Tokens are sent to the client's home origins only. A call to another origin passes unchanged. If its
///   ``RequestOptions/auth`` is ``RequestOptions/Auth/required``, it fails with ``PulseError/invalidRequest(reason:)``.
///   A missing required token is ``PulseError/unauthorized(_:)``; nothing is sent.
/// - A call with its own `Authorization`, or with ``RequestOptions/Auth/anonymous``, passes unchanged. So does a call
///   made within the provider's `refreshToken()`.
/// - A call with a one-shot body is not resent: its 401 is the outcome, and the refresh serves later calls.
public struct AuthPlugin: PulsePlugin, HookDeclaring {
    private enum Source: Sendable {
        case provider(any TokenProvider, TokenRefresh)
        /// Cannot refresh, and has no account.
        case closure(@Sendable () async -> String?)
    }

    private let source: Source
    private let scheme: String
    private let gate = CredentialGate()

    public var identifier: String { "com.pulse.auth" }
    public var scope: PluginScope { .call }

    /// Sends the tokens of a provider, which also refreshes them.
    ///
    /// - Parameter scheme: the scheme before the token in `Authorization`; `Bearer` by default.
    public init(tokenProvider: any TokenProvider, scheme: String = "Bearer") {
        source = .provider(tokenProvider, TokenRefresh(tokenProvider))
        self.scheme = scheme
    }

    /// Sends tokens from a closure. They are never refreshed: a 401 is ``PulseError/unauthorized(_:)``. The closure
    /// runs for each call, concurrently; nil or an empty string means no token.
    public init(scheme: String = "Bearer", _ token: @escaping @Sendable () async -> String?) {
        source = .closure(token)
        self.scheme = scheme
    }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        switch source {
        case .provider(let provider, let refresh):
            return try await intercept(request, for: context, next: next, provider, refresh)
        case .closure(let token):
            guard try gate.admits(request, for: context) else { return try await next(request) }
            if context.store[ExpectedAccount.self] != nil { throw PulseError.custom(PulseError.AccountMismatch()) }
            guard context.call.options.auth != .anonymous, !request.carries("Authorization") else {
                return try await next(request)
            }
            // The token belongs to an account that the closure does not identify.
            if context.account.identifier != nil { context.account = .unknown }
            guard let token = await token(), !token.isEmpty else {
                if context.call.options.auth == .required { throw PulseError.unauthorized() }
                return try await next(request)
            }
            return try await next(authorized(request, token))
        }
    }

    private func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain, _ provider: any TokenProvider,
        _ refresh: TokenRefresh
    ) async throws -> PulseResponse {
        if WorkScope.isWithin(refresh) {
            context.noteNoAccount()
            gate.noteHandled(in: context)
            return try await next(request)
        }
        guard try gate.admits(request, for: context) else {
            context.noteNoAccount()
            return try await next(request)
        }
        let expected = context.store[ExpectedAccount.self]
        guard context.call.options.auth != .anonymous, !request.carries("Authorization") else {
            if let expected, await provider.account != .known(expected) {
                throw PulseError.custom(PulseError.AccountMismatch())
            }
            context.noteNoAccount()
            return try await next(request)
        }
        let credential = try await credential(for: context, expected, provider, refresh)
        guard let token = credential.token else { return try await next(request) }
        let response = try await next(authorized(request, token))
        guard gate.isRefusal(response, in: context) else { return response }
        return try await outcome(after: response, to: request, credential, provider, refresh, in: context, next)
    }

    /// Cancels a refresh that no call waits for. A refresh that calls wait for, perhaps of another client, continues.
    /// The plugin stays usable.
    public func shutdown() async {
        if case .provider(_, let refresh) = source { await refresh.shutdown() }
    }

    private func authorized(_ request: URLRequest, _ token: String) throws -> URLRequest {
        let value = String(joining: scheme, " ", token)
        guard value.isHTTPFieldValue else {
            throw PulseError.invalidRequest(reason: "the access token or its scheme contains a control character")
        }
        var request = request
        request.setHeader("Authorization", to: value)
        return request
    }
}

// MARK: - The token of a call

extension AuthPlugin {
    private struct Credential {
        var token: String?
        var account: PluginContext.Account
    }

    /// The token and account for the call. Records the account in the context.
    private func credential(
        for context: PluginContext, _ expected: String?, _ provider: any TokenProvider, _ refresh: TokenRefresh
    ) async throws -> Credential {
        let version = refresh.version
        var credential = try await current(provider)
        if let expected, credential.account != .known(expected) {
            throw PulseError.custom(PulseError.AccountMismatch())
        }
        // A later hop or a resend must not use the account of another user who has logged in meanwhile.
        let earlier = context.account
        if credential.account != earlier {
            guard earlier.identifier == nil || credential.account == .none else {
                throw PulseError.custom(PulseError.AccountMismatch())
            }
            context.account = credential.account
        }
        guard let token = credential.token else {
            guard context.call.options.auth == .required else { return credential }
            throw refresh.isEnded ? PulseError.sessionExpired : .unauthorized()
        }
        guard !refresh.hasEnded(token, seenAt: version) else { throw PulseError.sessionExpired }
        guard let expiry = await provider.tokenExpiry else { return credential }
        switch refresh.validity(of: token, until: expiry, now: context.clock.now) {
        case .good: break
        case .ending: refresh.refreshAhead(of: token, seenAt: version, in: context)
        case .ended:
            // An expired token is not sent, unless only the server can decide.
            switch await refresh.outcome(of: token, seenAt: version, in: context) {
            case .token(let new): credential.token = new
            case .failure(let error):
                context.call.record(.failsForOtherWork(true))
                throw error
            case .refused(let error): if error.kind == .cancelled { throw error }
            case .recheck: return try await self.credential(for: context, expected, provider, refresh)
            }
            try await check(credential.account, provider)
        }
        return credential
    }

    /// A consistent token and account: between the two reads, one user may log out and another log in.
    private func current(_ provider: any TokenProvider) async throws -> Credential {
        for _ in 0..<8 {
            // Not in a separate function, since every call passes here.
            let account = await provider.accountID
            let token = try await provider.accessToken()
            if let account, !account.isEmpty, await provider.accountID != account { continue }
            return Credential(
                token: token?.isEmpty == true ? nil : token, account: PluginContext.Account(provided: account))
        }
        throw PulseError.custom(PulseError.AccountMismatch())
    }

    /// Throws unless the new token belongs to the account that the call was made for.
    private func check(_ account: PluginContext.Account, _ provider: any TokenProvider) async throws {
        if account != .none, await provider.account != account { throw PulseError.custom(PulseError.AccountMismatch()) }
    }
}

// MARK: - A rejected token

extension AuthPlugin {
    private func outcome(
        after refusal: PulseResponse, to request: URLRequest, _ sent: Credential, _ provider: any TokenProvider,
        _ refresh: TokenRefresh, in context: PluginContext, _ next: PluginChain
    ) async throws -> PulseResponse {
        guard let token = sent.token else { return refusal }
        guard context.body.isReplayable else {
            // The refresh is for later calls.
            let version = refresh.version
            if (try? await provider.accessToken()) == token {
                refresh.refreshAhead(of: token, seenAt: version, in: context)
            }
            return refusal
        }
        // The error that a deadline during the refresh reports as the last failure.
        context.call.record(.failure(.unauthorized(refusal)))
        do {
            guard let new = try await refresh.replacement(for: token, in: context) else { return refusal }
            try await check(sent.account, provider)
            // The 401 is handled: a later deadline error must not report it.
            context.call.record(.failure(nil))
            refusal.discard()
            return try await next(renewed(request, new, in: context))
        } catch {
            refusal.discard()
            throw error
        }
    }

    /// The request with the refreshed token. A token that is not a valid header value is a failure of the refresh.
    private func renewed(_ request: URLRequest, _ token: String, in context: PluginContext) throws -> URLRequest {
        do {
            return try authorized(request, token)
        } catch {
            context.call.record(.failsForOtherWork(true))
            throw error
        }
    }
}

extension AuthPlugin: AccountIdentifying {
    package var asksForAccount: Bool {
        if case .provider = source { true } else { false }
    }

    package func account(for request: URLRequest, _ options: RequestOptions) async -> PluginContext.Account {
        guard case .provider(let provider, let refresh) = source, !WorkScope.isWithin(refresh),
            options.auth != .anonymous, !request.carries("Authorization")
        else { return .none }
        return await provider.account
    }
}

extension TokenProvider {
    /// The account of the current user.
    fileprivate var account: PluginContext.Account {
        get async { PluginContext.Account(provided: await accountID) }
    }
}

extension AuthPlugin: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The scheme only: the provider holds the tokens.
    public var description: String { "AuthPlugin(\(scheme))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["scheme": scheme]) }
}

extension PulsePlugin where Self == AuthPlugin {
    /// An ``AuthPlugin`` with the tokens of a provider: ``AuthPlugin/init(tokenProvider:scheme:)``.
    public static func auth(_ tokenProvider: any TokenProvider, scheme: String = "Bearer") -> AuthPlugin {
        AuthPlugin(tokenProvider: tokenProvider, scheme: scheme)
    }

    /// An ``AuthPlugin`` with tokens from a closure, which are never refreshed: ``AuthPlugin/init(scheme:_:)``.
    public static func auth(
        scheme: String = "Bearer", _ token: @escaping @Sendable () async -> String?
    ) -> AuthPlugin {
        AuthPlugin(scheme: scheme, token)
    }
}
