// SPDX-License-Identifier: MIT

public import PulseCore

/// Digest authentication (RFC 7616) with a name and a password, which do not go over the wire.
///
/// A server's challenge, a 401 that the call does not accept, is answered with one more request; later calls to that origin
/// answer it beforehand, until the server wants another nonce. The name is the account of all that a cache or the offline
/// queue keeps. SHA-256 and MD5 with their `-sess` forms are done, the form of
/// RFC 2069 too, `auth-int` is not. Over plain HTTP it protects the password alone, and with MD5 not well: use TLS.
///
/// They are for the client's home origins only, and not for a call whose ``RequestOptions/auth`` is
/// ``RequestOptions/Auth/anonymous`` or which has an `Authorization` itself. A call that requires them and goes elsewhere
/// fails with ``PulseError/invalidRequest(reason:)`` before it is sent. A body that can be sent once only is not sent again:
/// its 401 is the outcome. So is a second one. Without the system's hash function the challenge is the outcome.
public struct DigestPlugin: PulsePlugin {
    private let username: String
    private let password: String
    private let gate = CredentialGate()
    /// Few: only home origins have one.
    private let sessions = Locked<[Origin: DigestSession]>([:])

    public var identifier: String { "com.pulse.auth" }
    public var scope: PluginScope { .call }

    /// - Parameter username: without a colon, which digest authentication cannot express: every call fails with
    ///   ``PulseError/invalidRequest(reason:)``, as with a line break.
    public init(username: String, password: String) {
        self.username = username
        self.password = password
    }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        // From here on a call without an account is nobody's.
        if context.store[AccountIsAsked.self] == false { context.store[AccountIsAsked.self] = true }
        guard try gate.admits(request, for: context) else { return try await next(request) }
        if let expected = context.store[ExpectedAccount.self], expected != username {
            throw PulseError.custom(AccountMismatch())
        }
        guard context.options.auth != .anonymous, !request.carries("Authorization"),
            let origin = request.url.flatMap(Origin.init)
        else { return try await next(request) }
        guard username.isHTTPFieldValue, !username.utf8.contains(UInt8(ascii: ":")) else {
            throw PulseError.invalidRequest(reason: "a user name of digest authentication has no colon or line break")
        }
        context.store[AccountID.self] = username
        let (first, nonce) = answer(to: request, at: origin)
        let response = try await next(first ?? request)
        learn(from: response, at: origin)
        guard gate.isRefusal(response, in: context), let challenge = DigestChallenge.first(in: response.headers)
        else { return response }
        guard nonce == nil || challenge.isStale || challenge.nonce != nonce else { return response }
        begin(challenge, at: origin, context)
        guard context.body.isReplayable, let second = answer(to: request, at: origin).request else { return response }
        response.bytes?.cancel()
        let outcome = try await next(second)
        learn(from: outcome, at: origin)
        // Wrong: the next call does not begin with them.
        if gate.isRefusal(outcome, in: context) { sessions.withLock { $0[origin] = nil } }
        return outcome
    }

    /// The request with an answer to what its server has asked for before, and the nonce of that.
    private func answer(to request: URLRequest, at origin: Origin) -> (request: URLRequest?, nonce: String?) {
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
        sessions.withLock { $0[origin] = session }
    }

    private func learn(from response: PulseResponse, at origin: Origin) {
        guard let info = response.headers["Authentication-Info"],
            let nonce = AuthenticationField.parameters(in: info)["nextnonce"]
        else { return }
        sessions.withLock { $0[origin]?.goOn(with: nonce) }
    }
}

extension DigestPlugin: AsksForAccount {
    package var asksForAccount: Bool { true }
}

extension DigestPlugin: EndsWithItsCall, TellsItsHooks {}

extension DigestPlugin: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Neither name nor password.
    public var description: String { "DigestPlugin" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension PulsePlugin where Self == DigestPlugin {
    /// ``DigestPlugin/init(username:password:)``
    public static func digest(username: String, password: String) -> DigestPlugin {
        DigestPlugin(username: username, password: password)
    }
}

extension URL {
    /// Path and query as they go out (RFC 9112, section 3.2.1).
    fileprivate var requestTarget: String {
        let text = absoluteString.prefix { $0 != "#" }
        guard let scheme = text.range(of: "://") else { return String(text) }
        let target = text[scheme.upperBound...].drop { $0 != "/" && $0 != "?" }
        return target.first == "/" ? String(target) : "/" + target
    }
}
