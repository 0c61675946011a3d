// SPDX-License-Identifier: MIT

/// The rule that keeps a server from doing the work of a request twice (RFC 9110, section 9.2.2).
///
/// A request may be sent again only if its body can be sent again, and one of these holds: it is idempotent, it has an
/// `Idempotency-Key`, or nothing of it was sent. A plugin may have changed the method since the client built the
/// request. So the method as built, the one that the retry loop sees and the one that was sent must all be idempotent.
///
/// The rule is enforced where a request could reach a server twice:
///
/// | Place | What it prevents |
/// |---|---|
/// | `RetryLoop` | another attempt after a failure, or after a stale connection |
/// | `Wire` | a transport that repeats a request by itself: ``TransportRequest/mayBeResent`` is false |
/// | `CurlTransfer`, `HTTP1ConnectionPool` | an idle connection that its server may soon close, for such a request |
/// | `URLSessionTransport` | Foundation's own resending: such a request gets a new session |
/// | `ValidatorPlugin` | the repeat that a validator asks for |
/// | `HedgedRequest` | a second copy of a request that is not safe |
/// | `PulseClient.run` | asking again after a stored response that cannot be read |
/// | `RedirectPolicy` | a body that follows a redirect and cannot be sent again |
/// | `OfflineGate` | queueing a call that a server has responded to |
package struct ReplaySafety: Sendable {
    private let isBodyReplayable: Bool
    private let isHarmless: Bool

    /// - Parameter sent: the request as it was sent; nil if it was not sent.
    package init(of request: URLRequest, sent: URLRequest? = nil, in context: PluginContext) {
        isBodyReplayable = context.body.isReplayable
        isHarmless =
            (context.method.isIdempotent && request.isIdempotent || request.hasIdempotencyKey)
            && (sent.map { $0.isIdempotent || $0.hasIdempotencyKey } ?? true)
    }

    /// Whether a server may get the request twice.
    ///
    /// - Parameters:
    ///   - isUnsent: whether no attempt so far has sent anything.
    ///   - allowsUnsafe: whether the app has allowed repeating unsafe requests.
    package func allowsRepeat(isUnsent: Bool = false, allowsUnsafe: Bool = false) -> Bool {
        isBodyReplayable && (isHarmless || isUnsent || allowsUnsafe)
    }
}

extension URLRequest {
    package var isIdempotent: Bool {
        HTTPMethod(rawValue: httpMethod ?? "GET")?.isIdempotent ?? false
    }

    /// Whether the request has an `Idempotency-Key`, by which a server that knows it does the work only once. A key
    /// that the call knows and no header carries protects nothing, nor does an empty one.
    package var hasIdempotencyKey: Bool {
        !(header("Idempotency-Key") ?? "").isEmpty
    }
}
