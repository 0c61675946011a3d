// SPDX-License-Identifier: MIT

/// What a redirect of some status makes of a request (RFC 9110, section 15.4; WHATWG Fetch, section 4.4).
struct RedirectRule {
    private let method: String
    let dropsBody: Bool

    /// Nil if the status is no redirect to follow.
    init?(status: Int, method: String) {
        switch status {
        case 301, 302: dropsBody = method == "POST"
        case 303: dropsBody = method != "GET" && method != "HEAD"
        case 307, 308: dropsBody = false
        default: return nil
        }
        self.method = dropsBody ? "GET" : method
    }

    func apply(to request: URLRequest, target: URL) -> URLRequest {
        var next = request
        if let source = request.url, Origin(source) != Origin(target) {
            // A Host of one's own names the host that has just sent the client elsewhere.
            next.setValue(nil, forHTTPHeaderField: "Host")
        }
        next.url = target
        next.httpMethod = method
        guard dropsBody else { return next }
        next.httpBody = nil
        next.httpBodyStream = nil
        for name in (request.allHTTPHeaderFields ?? [:]).keys where Self.describesBody(name) {
            next.setValue(nil, forHTTPHeaderField: name)
        }
        return next
    }

    private static func describesBody(_ name: String) -> Bool {
        let name = name.asciiLowercased
        return name.hasPrefix("content-")
            || ["transfer-encoding", "trailer", "expect", "digest", "repr-digest", "idempotency-key"].contains(name)
    }
}
