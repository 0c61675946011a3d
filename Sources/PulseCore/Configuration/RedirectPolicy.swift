// SPDX-License-Identifier: MIT

/// Which redirects a client follows (RFC 9110, section 15.4), and which request it sends next.
///
/// When followed, 301 and 302 turn a POST into GET, and 303 turns any method but HEAD into GET. Where the method
/// changes, and after any 303, the body, `Content-*` headers and the idempotency key are dropped. 307 and 308 keep
/// method and body.
///
/// A redirect is never followed from https to http, to another scheme, or with a body that can be sent only once. The
/// 3xx response is then the result, and fails like any status that the call does not accept. For the handshake of a
/// socket, ws and wss mean http and https.
public struct RedirectPolicy: Sendable {
    private enum Mode: Sendable {
        case follow(maxHops: Int)
        case refuse
        case custom(@Sendable (PulseResponse, URLRequest) -> URLRequest?)
    }

    private let mode: Mode

    /// Follows up to 10 redirects; one more throws ``PulseError/transport(_:underlying:)`` with
    /// `.httpTooManyRedirects`.
    public static let `default` = follow()

    /// Follows up to `maxHops` redirects; one more throws ``PulseError/transport(_:underlying:)`` with
    /// `.httpTooManyRedirects`.
    public static func follow(maxHops: Int = 10) -> RedirectPolicy {
        RedirectPolicy(mode: .follow(maxHops: max(0, maxHops)))
    }

    /// Follows no redirect: the 3xx is the result, and throws ``PulseError/http(_:)`` unless the call accepts its
    /// status.
    public static let refuse = RedirectPolicy(mode: .refuse)

    /// Follows with the request that the closure returns, or does not follow if it returns nil.
    ///
    /// The closure gets the redirect and the request that the rules of ``RedirectPolicy`` would send. It is not called
    /// for a redirect that the rules forbid. At most 10 redirects are followed. If the closure changes the method to
    /// GET or HEAD, the body is always dropped.
    ///
    /// It may be called several times for one redirect, on any thread, and must return the same each time.
    public static func custom(
        _ decide: @escaping @Sendable (PulseResponse, URLRequest) -> URLRequest?
    ) -> RedirectPolicy {
        RedirectPolicy(mode: .custom(decide))
    }

    /// The maximum number of redirects; nil if a closure decides.
    package var maxHops: Int? {
        switch mode {
        case .follow(let maximum): maximum
        case .refuse: 0
        case .custom: nil
        }
    }

    package enum Decision: Sendable {
        /// The response is returned as it is.
        case stop
        case follow(URLRequest, dropsBody: Bool)
        case tooManyRedirects
    }

    /// Decides what to do with a response.
    ///
    /// A relative `Location` is resolved against the URL that was sent, even if a plugin had changed that URL.
    ///
    /// - Parameter request: the request that the redirect continues, as the client built it; by default the request as
    ///   it was sent.
    /// - Parameter hop: the number of redirects followed so far.
    package func decision(
        for response: PulseResponse, following request: URLRequest? = nil, hop: Int, isBodyReplayable: Bool
    ) -> Decision {
        let request = request ?? response.request
        let method = request.httpMethod ?? "GET"
        guard var (nextMethod, dropsBody) = Self.rewriting(response.statusCode, method: method),
            dropsBody || isBodyReplayable,
            let current = response.request.url ?? request.url, let target = Self.target(of: response, from: current)
        else { return .stop }
        var next = request
        next.url = target
        next.httpMethod = nextMethod
        if dropsBody { Self.removeBody(from: &next) }
        Self.removeHost(from: &next, continuing: request, sentTo: current)
        var maxHops = 10
        switch mode {
        case .refuse: return .stop
        case .follow(let limit): maxHops = limit
        case .custom(let decide):
            guard let decided = decide(response, next), let url = decided.url?.withPlainHost,
                Self.mayFollow(from: current, to: url)
            else { return .stop }
            next = decided
            if next.url != url { next.url = url }
            nextMethod = next.httpMethod ?? "GET"
            if nextMethod != method, ["GET", "HEAD"].contains(nextMethod) {
                dropsBody = true
                Self.removeBody(from: &next)
            }
            Self.removeHost(from: &next, continuing: request, sentTo: current)
        }
        return hop < maxHops ? .follow(next, dropsBody: dropsBody) : .tooManyRedirects
    }

    /// The method of the next request, and whether the body is dropped; nil for a status that is not followed.
    private static func rewriting(_ status: Int, method: String) -> (method: String, dropsBody: Bool)? {
        switch status {
        case 301, 302: method == "POST" ? ("GET", true) : (method, false)
        case 303: (method == "HEAD" ? method : "GET", true)
        case 307, 308: (method, false)
        default: nil
        }
    }

    /// The URL that `Location` points to: http or https, with a host, never from https to http. Its user info is
    /// removed: it comes from the server, not from the caller.
    package static func target(of response: PulseResponse, from current: URL) -> URL? {
        guard let location = response.headers.octets(for: "Location").first,
            let reference = URLReference(location),
            var parts = reference.parts(against: current)
        else { return nil }
        if isHandshake(response.request) { parts.scheme = parts.scheme.map(plainScheme) }
        // RFC 9110, section 10.2.2.
        if parts.fragment == nil {
            parts.percentEncodedFragment =
                URLComponents(url: current, resolvingAgainstBaseURL: true)?.percentEncodedFragment
        }
        return parts.url.flatMap { mayFollow(from: current, to: $0) ? $0 : nil }
    }

    private static func isHandshake(_ request: URLRequest) -> Bool {
        request.value(forHTTPHeaderField: "Upgrade")?.equalsIgnoringASCIICase("websocket") == true
    }

    /// Maps the scheme of a WebSocket URL to that of its handshake (RFC 6455, section 3).
    private static func plainScheme(_ scheme: String) -> String {
        switch scheme.asciiLowercased {
        case "ws": "http"
        case "wss": "https"
        default: scheme
        }
    }

    /// Whether the scheme may be followed: http or https only, and never from https to http.
    private static func mayFollow(from current: URL, to target: URL) -> Bool {
        guard let origin = Origin(target), target.scheme?.asciiLowercased.hasPrefix("http") == true else {
            return false
        }
        return origin.scheme == "https" || Origin(current)?.scheme != "https"
    }

    /// Removes a `Host` header set by the caller, since it names the host that redirected the client. A `Host` that a
    /// custom closure sets stays.
    package static func removeHost(from next: inout URLRequest, continuing request: URLRequest, sentTo current: URL) {
        guard let target = next.url.map({ Origin($0) }), let host = request.value(forHTTPHeaderField: "Host"),
            next.value(forHTTPHeaderField: "Host") == host,
            target != Origin(current) || target != request.url.flatMap({ Origin($0) })
        else { return }
        next.setValue(nil, forHTTPHeaderField: "Host")
    }

    /// Fields that are removed with a body, besides those whose names begin with `Content-` (RFC 9110, section 15.4).
    private static let bodyFields: Set<String> = [
        "digest", "expect", "idempotency-key", "last-modified", "repr-digest", "trailer", "transfer-encoding",
    ]

    private static func removeBody(from request: inout URLRequest) {
        request.httpBody = nil
        for name in (request.allHTTPHeaderFields ?? [:]).keys {
            let lowercased = name.asciiLowercased
            if lowercased.hasPrefix("content-")
                || bodyFields.contains(lowercased)
            {
                request.setValue(nil, forHTTPHeaderField: name)
            }
        }
    }
}

extension RedirectPolicy: CustomStringConvertible {
    public var description: String {
        switch mode {
        case .follow(let maxHops): "follow(maxHops: \(maxHops))"
        case .refuse: "refuse"
        case .custom: "custom"
        }
    }
}
