// SPDX-License-Identifier: MIT

/// The rule that prevents a server from doing the work of a request twice (RFC 9110, section 9.2.2).
///
/// A request may be resent only if its body can be resent, and one of these holds: it is idempotent, it has an
/// `Idempotency-Key`, no part of it was sent, or the server has declared with a 421 that it did not process it. A
/// plugin may have changed the method since the client built the request. So the method as built, the method that the
/// retry loop sees and the method that was sent must all be idempotent.
///
/// The rule is enforced where a request could reach a server twice:
///
/// | Place | What it prevents |
/// |---|---|
/// | `RetryLoop` | another attempt after a failure, a stale connection or a 421 |
/// | `Wire` | a transport that resends a request by itself: ``TransportRequest/mayBeResent`` is false |
/// | `ConnectionPool` | an idle connection that its server may soon close, for such a request |
/// | `URLSessionTransport` | Foundation's own resends: such a request gets a new session |
/// | `ValidatorPlugin` | the retry that a validator requests |
/// | `HedgedRequest` | a second copy of a request that is not safe |
/// | `DirectCarrier` | a new request after a stored response that cannot be read |
/// | `RedirectPolicy` | a body that follows a redirect and cannot be resent |
/// | `OfflineGate` | queueing a call that a server has responded to |
package struct ReplaySafety: Sendable {
    private let isBodyReplayable: Bool
    private let isHarmless: Bool

    /// - Parameter sent: the request as it was sent; nil if it was not sent.
    package init(of request: URLRequest, sent: URLRequest? = nil, in context: PluginContext) {
        isBodyReplayable = context.body.isReplayable
        let onlyReads = { context.store[ReadOnlyKey.self] == true }
        isHarmless =
            (context.method.isIdempotent && request.isIdempotent || request.hasIdempotencyKey || onlyReads())
            && (sent.map { $0.isIdempotent || $0.hasIdempotencyKey || onlyReads() } ?? true)
    }

    /// Whether a server may receive the request twice.
    ///
    /// - Parameters:
    ///   - isUnsent: whether no attempt so far has sent anything, or the server has processed nothing of what was sent.
    ///   - allowsUnsafe: whether the app has allowed retries of unsafe requests.
    package func allowsRepeat(isUnsent: Bool = false, allowsUnsafe: Bool = false) -> Bool {
        isBodyReplayable && (isHarmless || isUnsent || allowsUnsafe)
    }
}

/// Whether a POST call is read-only, such as a GraphQL query. Nil for calls of other protocols.
package enum ReadOnlyKey: PluginContext.Key {
    package typealias Value = Bool
}

extension URLRequest {
    package var isIdempotent: Bool {
        HTTPMethod(rawValue: httpMethod ?? "GET")?.isIdempotent ?? false
    }

    /// Whether the request has an `Idempotency-Key`. A server that supports the key does the work only once. A key that
    /// is in no header gives no protection, nor does an empty key.
    package var hasIdempotencyKey: Bool {
        !(header("Idempotency-Key") ?? "").isEmpty
    }
}

/// Decides whether a response is the outcome of the call's own request although its status is not accepted.
package enum CallOutcome: PluginContext.Key {
    package typealias Value = @Sendable (PulseResponse, RequestOptions.AcceptedStatuses) -> Bool
}
