// SPDX-License-Identifier: MIT

public import PulseCore

/// Digest authentication with a name and a password, which are never sent themselves (RFC 7616).
///
/// After a server's challenge, a 401 that the call does not accept, the request is resent once with a digest. Later
/// calls to that origin carry a digest from the start, until the server demands another nonce. The name is the account
/// for the cache and the offline queue.
///
/// SHA-256, MD5, their `-sess` forms and the form of RFC 2069 are supported; `auth-int` is not. Over plain HTTP it
/// protects only the password, and with MD5 only weakly: use TLS.
///
/// Digests are sent to the client's home origins only. They are not sent with a call that has an `Authorization`
/// already, or whose ``RequestOptions/auth`` is ``RequestOptions/Auth/anonymous``. A call to another origin that
/// requires them fails with ``PulseError/invalidRequest(reason:)`` before it is sent. A call with a one-shot body is
/// not resent: its 401 is the outcome. So is a second 401. Without the system's hash function, the challenge is the
/// outcome.
public struct DigestPlugin: PulsePlugin {
    private let username: String
    private let password: String
    private let gate = CredentialGate()
    /// One for each origin. There are few, since only home origins have one.
    private let sessions = Locked<[Origin: DigestSession]>([:])

    public var identifier: String { "com.pulse.auth" }
    public var scope: PluginScope { .call }

    /// Digest authentication with a name and a password.
    ///
    /// - Parameter username: without a colon or a line break, which digest authentication cannot express. With one of
    ///   them, every call fails with ``PulseError/invalidRequest(reason:)``.
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
            throw PulseError.custom(AccountMismatch())
        }
        guard context.options.auth != .anonymous, !request.carries("Authorization"),
            let origin = request.url.flatMap(Origin.init)
        else { return try await next(request) }
        guard username.isHTTPFieldValue, !username.utf8.contains(UInt8(ascii: ":")) else {
            throw PulseError.invalidRequest(
                reason: "a user name for digest authentication must not contain a colon or line break")
        }
        context.account = .known(username)
        gate.noteHandled(in: context)
        let (first, nonce) = authorized(request, at: origin)
        let sentBefore = context.call.sentCount
        let response = try await next(first ?? request)
        adoptNextNonce(from: response, at: origin)
        guard gate.isRefusal(response, in: context), let challenge = DigestChallenge.first(in: response.headers)
        else { return response }
        // A request that an inner plugin sent twice has used a nonce count twice. A server may reject it for that
        // alone.
        let isSentTwice = context.call.sentCount > sentBefore + 1
        guard nonce == nil || challenge.isStale || challenge.nonce != nonce || isSentTwice else { return response }
        begin(challenge, at: origin, context)
        guard context.body.isReplayable, let second = authorized(request, at: origin).request else { return response }
        response.discard()
        // The challenge is handled: a later deadline error must not report it.
        context.call.record(.failure(nil))
        let outcome = try await next(second)
        adoptNextNonce(from: outcome, at: origin)
        // Name or password is wrong: the next call starts without a digest.
        if gate.isRefusal(outcome, in: context) { sessions.withLock { $0[origin] = nil } }
        return outcome
    }

    /// The request with a digest for its server's last challenge, and the nonce used.
    private func authorized(_ request: URLRequest, at origin: Origin) -> (request: URLRequest?, nonce: String?) {
        guard let target = request.url?.requestTarget else { return (nil, nil) }
        let method = request.httpMethod ?? "GET"
        let (value, nonce) = sessions.withLock {
            ($0[origin]?.authorization(method: method, target: target), $0[origin]?.nonce)
        }
        guard let value, value.isHTTPFieldValue else { return (nil, nil) }
        var request = request
        request.setValue(value, forHTTPHeaderField: "Authorization")
        return (request, nonce)
    }

    private func begin(_ challenge: DigestChallenge, at origin: Origin, _ context: PluginContext) {
        let clientNonce = (0..<2).map { _ in String(context.randomness.next(), radix: 16) }.joined()
        let session = DigestSession(challenge, username: username, password: password, clientNonce: clientNonce)
        sessions.withLock { sessions in
            // Calls that are challenged at the same time share one nonce count.
            if !challenge.isStale, sessions[origin]?.nonce == challenge.nonce { return }
            sessions[origin] = session
        }
    }

    private func adoptNextNonce(from response: PulseResponse, at origin: Origin) {
        guard let info = response.headers["Authentication-Info"],
            let nonce = AuthenticationField.parameters(in: info)["nextnonce"]
        else { return }
        sessions.withLock { $0[origin]?.adopt(nonce) }
    }
}

extension DigestPlugin: AsksForAccount {
    package var asksForAccount: Bool { true }

    package func account(for request: URLRequest, _ options: RequestOptions) async -> CallAccount {
        options.auth == .anonymous || request.carries("Authorization") ? .none : .known(username)
    }
}

extension DigestPlugin: TellsItsHooks {}

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

extension URL {
    /// Path and query as sent (RFC 9112, section 3.2.1).
    fileprivate var requestTarget: String {
        let text = absoluteString.prefix { $0 != "#" }
        guard let scheme = text.range(of: "://") else { return String(text) }
        let target = text[scheme.upperBound...].drop { $0 != "/" && $0 != "?" }
        return target.first == "/" ? String(target) : "/" + target
    }
}
