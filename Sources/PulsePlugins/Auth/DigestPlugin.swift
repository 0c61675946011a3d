// SPDX-License-Identifier: MIT

public import PulseCore

/// Digest authentication with a name and a password, which are never sent themselves (RFC 7616).
///
/// ```swift
/// let digest = DigestPlugin(username: "ada", password: password)
/// let client = PulseClient(configuration: configuration, plugins: [digest])
/// ```
///
/// After a server's challenge, a 401 that the call does not accept, the request is resent with a digest: once, and up
/// to twice more if the server calls the challenge's own nonce stale. Later calls to that origin carry a digest from
/// the start, until the server demands another nonce. The name is the account for the cache and the offline queue.
///
/// SHA-256, MD5, their `-sess` forms and the form of RFC 2069 are supported; `auth-int` is not. Over plain HTTP it
/// protects only the password, and with MD5 only weakly: use TLS.
///
/// Digests are sent to the client's home origins only. They are not sent with a call that has an `Authorization`
/// already, or whose ``RequestOptions/auth`` is ``RequestOptions/Auth/anonymous``. A call to another origin that
/// requires them fails with ``PulseError/invalidRequest(reason:)`` before it is sent. A call with a one-shot body is
/// not resent: its 401 is the outcome. So is a second 401 that is not stale. Without the system's hash function, the
/// challenge is the outcome.
public struct DigestPlugin: PulsePlugin {
    private static let maxResends = 3

    private let username: String
    private let password: String
    private let gate = CredentialGate()
    /// Sessions by origin. There are few, since only home origins have any.
    private let sessions = Locked<[Origin: Sessions]>([:])

    private struct Sessions {
        /// The session of the last accepted request.
        var current: DigestSession?
        /// Sessions of challenged calls, by nonce, until their resends end. Other calls do not use them, since a nonce
        /// may be valid for one request only.
        var challenged: [String: DigestSession] = [:]
    }

    public var identifier: String { "com.pulse.auth" }
    public var scope: PluginScope { .call }

    /// Digest authentication with a name and a password.
    ///
    /// - Parameter username: without a colon or a control character, which digest authentication cannot express. With
    ///   one of them, every call fails with ``PulseError/invalidRequest(reason:)``.
    public init(username: String, password: String) {
        self.username = username
        self.password = password
    }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        // From here on, a call without an account is known to have none.
        context.noteNoAccount()
        guard try gate.admits(request, for: context) else { return try await next(request) }
        if let expected = context.store[ExpectedAccount.self], expected != username {
            throw PulseError.custom(PulseError.AccountMismatch())
        }
        guard context.options.auth != .anonymous, !request.carries("Authorization"),
            let origin = request.url.flatMap(Origin.init)
        else { return try await next(request) }
        guard username.isHTTPFieldValue, !username.utf8.contains(UInt8(ascii: ":")) else {
            throw PulseError.invalidRequest(
                reason: "a user name for digest authentication must not contain a colon or control character")
        }
        context.account = .known(username)
        gate.noteHandled(in: context)
        let (first, firstNonce) = authorized(request, at: origin)
        let sentBefore = context.call.sentCount
        var response = try await next(first ?? request)
        adoptNextNonce(from: response, at: origin)
        guard gate.isRefusal(response, in: context), var challenge = DigestChallenge.first(in: response.headers)
        else { return response }
        // A request that an inner plugin sent twice has used a nonce count twice. A server may reject it for that
        // alone.
        let isSentTwice = context.call.sentCount > sentBefore + 1
        guard firstNonce == nil || challenge.isStale || challenge.nonce != firstNonce || isSentTwice
        else { return response }
        var used = firstNonce
        for _ in 0..<Self.maxResends {
            guard let resend = authorized(request, for: challenge, after: used, at: origin, context)
            else { return response }
            response.discard()
            // The challenge is handled: a later deadline error must not report it.
            context.call.record(.failure(nil))
            do {
                response = try await next(resend)
            } catch {
                end(challenge, isAccepted: false, at: origin)
                throw error
            }
            let isAccepted = !gate.isRefusal(response, in: context)
            end(challenge, isAccepted: isAccepted, at: origin)
            adoptNextNonce(from: response, at: origin)
            guard !isAccepted else { return response }
            // A nonce that has become stale meanwhile says nothing about name and password (RFC 7616, section 3.3).
            guard let next = DigestChallenge.first(in: response.headers), next.isStale, next.nonce != challenge.nonce
            else {
                // Name or password is wrong: the next call starts without a digest.
                sessions.withLock { $0[origin]?.current = nil }
                return response
            }
            used = challenge.nonce
            challenge = next
        }
        return response
    }

    /// The request with a digest for its server's last challenge, and the nonce used.
    private func authorized(_ request: URLRequest, at origin: Origin) -> (request: URLRequest?, nonce: String?) {
        sessions.withLock { sessions in
            let nonce = sessions[origin]?.current?.nonce
            return (sessions[origin, default: Sessions()].current.authorized(request), nonce)
        }
    }

    /// The request with a digest for this challenge, even if concurrent calls get other challenges; nil if it cannot be
    /// resent. The challenge then serves the next call.
    ///
    /// - Parameter used: the nonce that the server rejected with this challenge.
    private func authorized(
        _ request: URLRequest, for challenge: DigestChallenge, after used: String?, at origin: Origin,
        _ context: PluginContext
    ) -> URLRequest? {
        let clientNonce = (0..<2).map { _ in String(context.randomness.next(), radix: 16) }.joined()
        let session = DigestSession(challenge, username: username, password: password, clientNonce: clientNonce)
        return sessions.withLock { sessions in
            var own = sessions[origin] ?? Sessions()
            defer { sessions[origin] = own }
            // A server that forgot its nonce and issues it again counts from one.
            let isForgotten = challenge.isStale && challenge.nonce == used
            let isCurrent = own.current?.nonce == challenge.nonce && !isForgotten
            guard context.body.isReplayable else {
                if !isCurrent { own.current = session }
                return nil
            }
            if isCurrent { return own.current.authorized(request) }
            // Calls that are challenged at the same time share one nonce count.
            if own.challenged[challenge.nonce] == nil || isForgotten { own.challenged[challenge.nonce] = session }
            return own.challenged[challenge.nonce].authorized(request)
        }
    }

    /// Removes the session of an ended resend; it becomes the current one if the digest was accepted.
    private func end(_ challenge: DigestChallenge, isAccepted: Bool, at origin: Origin) {
        sessions.withLock { sessions in
            let session = sessions[origin]?.challenged.removeValue(forKey: challenge.nonce)
            if isAccepted, let session { sessions[origin]?.current = session }
        }
    }

    private func adoptNextNonce(from response: PulseResponse, at origin: Origin) {
        guard let info = response.headers["Authentication-Info"],
            let nonce = AuthenticationField.parameters(in: info)["nextnonce"]
        else { return }
        sessions.withLock { $0[origin]?.current?.adopt(nonce) }
    }
}

extension DigestPlugin: AccountIdentifying {
    package var asksForAccount: Bool { true }

    package func account(for request: URLRequest, _ options: RequestOptions) async -> PluginContext.Account {
        options.auth == .anonymous || request.carries("Authorization") ? .none : .known(username)
    }
}

extension DigestPlugin: HookDeclaring {}

extension DigestPlugin: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type's name, without name and password.
    public var description: String { "DigestPlugin" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension PulsePlugin where Self == DigestPlugin {
    /// A ``DigestPlugin`` with a name and a password: ``DigestPlugin/init(username:password:)``.
    public static func digest(username: String, password: String) -> DigestPlugin {
        DigestPlugin(username: username, password: password)
    }
}

extension DigestSession? {
    /// The request with the session's next digest; nil without a session or if a field cannot carry the digest.
    fileprivate mutating func authorized(_ request: URLRequest) -> URLRequest? {
        guard let target = request.url?.requestTarget,
            let value = self?.authorization(method: request.httpMethod ?? "GET", target: target),
            value.isHTTPFieldValue
        else { return nil }
        var request = request
        request.setValue(value, forHTTPHeaderField: "Authorization")
        return request
    }
}

extension URL {
    /// Path and query as sent (RFC 9112, section 3.2.1).
    fileprivate var requestTarget: String {
        let text = absoluteString.prefix { $0 != "#" }
        guard let scheme = text.range(of: "://") else { return String(text) }
        let target = text[scheme.upperBound...].drop { $0 != "/" && $0 != "?" }
        return target.first == "/" ? String(target) : "/" + target
    }
}
