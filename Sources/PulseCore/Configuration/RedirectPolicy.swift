// SPDX-License-Identifier: MIT

/// What a client does about a redirect (RFC 9110, section 15.4). A pure decision; the client performs it.
///
/// 301 and 302 turn a POST into a GET, 303 turns everything but HEAD into one, 307 and 308 keep method and body.
/// Whatever the policy: a redirect from `https` to `http`, to another scheme, or with a `Location` that is no URL is
/// not followed, and neither is one that asks for a body that cannot be sent again. Then the 3xx is the answer.
public struct RedirectPolicy: Sendable {
    /// What becomes of an answer.
    package enum Decision: Sendable {
        /// It stands as it is.
        case stop
        /// Send this. With `dropsBody` the call has become another one, without body and idempotency key.
        case follow(URLRequest, dropsBody: Bool)
        case tooManyRedirects
    }

    private enum Mode: Sendable {
        case follow
        case refuse
        case custom(@Sendable (PulseResponse, URLRequest) -> URLRequest?)
    }

    private let mode: Mode
    /// Redirects of one call at most; one more is ``PulseError/transport(_:underlying:)`` with
    /// `.httpTooManyRedirects`.
    public let maximumHops: Int

    private init(_ mode: Mode, maximumHops: Int = 10) {
        self.mode = mode
        self.maximumHops = maximumHops
    }

    /// Follows at most 10.
    public static let `default` = follow()

    /// Follows at most that many.
    public static func follow(maximumHops: Int = 10) -> RedirectPolicy {
        RedirectPolicy(.follow, maximumHops: maximumHops)
    }

    /// Follows none: the 3xx itself is the answer.
    public static let refuse = RedirectPolicy(.refuse)

    /// Asks about each redirect that the rules above let through: `decide` gets the answer and the request that would be
    /// sent next, and returns the one to send, or nil to take the answer as it is.
    ///
    /// It may be called several times about one answer, on any thread, and must say the same each time.
    public static func custom(
        maximumHops: Int = 10, _ decide: @escaping @Sendable (PulseResponse, URLRequest) -> URLRequest?
    ) -> RedirectPolicy {
        RedirectPolicy(.custom(decide), maximumHops: maximumHops)
    }

    /// What to do with an answer.
    ///
    /// - Parameter request: what the redirect continues, as the client built it; else the request as it was sent.
    /// - Parameter hop: redirects of this call that have been followed.
    package func decision(
        for response: PulseResponse, following request: URLRequest? = nil, hop: Int, isBodyReplayable: Bool
    ) -> Decision {
        let request = request ?? response.request
        guard let rule = RedirectRule(status: response.statusCode, method: request.httpMethod ?? "GET"),
            rule.dropsBody || isBodyReplayable,
            let source = request.url?.absoluteURL, let target = response.headers.location(from: source),
            Self.mayFollow(from: source, to: target),
            let next = agreed(on: rule.apply(to: request, target: target), to: response, from: source)
        else { return .stop }
        return hop < maximumHops ? .follow(next, dropsBody: rule.dropsBody) : .tooManyRedirects
    }

    private func agreed(on next: URLRequest, to response: PulseResponse, from source: URL) -> URLRequest? {
        switch mode {
        case .follow: return next
        case .refuse: return nil
        case .custom(let decide):
            guard let chosen = decide(response, next), let url = chosen.url, Self.mayFollow(from: source, to: url)
            else {
                return nil
            }
            return chosen
        }
    }

    private static func mayFollow(from source: URL, to target: URL) -> Bool {
        // Of the schemes that have an origin a redirect leads to two; sockets are asked for, not led to.
        guard let scheme = target.scheme?.asciiLowercased, scheme == "https" || scheme == "http",
            Origin(target) != nil
        else { return false }
        return scheme == "https" || Origin(source)?.scheme != "https"
    }
}
