// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

extension CachePolicy {
    // MARK: What may be stored

    /// Whether the response may be stored (RFC 9111, section 3).
    func mayStore(_ response: OriginResponse, to request: CachedRequest) -> Bool {
        guard !request.directives.noStore, request.method == .get || request.method == .query,
            !Self.isAboutRange(response.statusCode, request)
        else { return false }
        return isStorable(response.statusCode, response.headers)
    }

    /// Whether a stored response may be stored again after its headers were updated. Sets its selecting fields.
    func mayStore(updated head: inout CachedResponse.Head, for request: CachedRequest) -> Bool {
        guard let fields = Self.selectingFields(head.headers, of: request) else { return false }
        head.selectingFields = fields
        return !request.directives.noStore && isStorable(head.statusCode, head.headers, isPart: head.parts != nil)
    }

    /// Whether a response may concern the requested range, not the whole representation.
    private static func isAboutRange(_ status: Int, _ request: CachedRequest) -> Bool {
        request.asksForRange && (status == 400 || status == 416)
    }

    /// Whether a response that may not be stored shows that the stored one is outdated. A temporary failure does not,
    /// nor does one about the request alone.
    static func isDefinite(_ status: Int, for request: CachedRequest) -> Bool {
        status < 500 && ![304, 408, 425, 429].contains(status) && !isAuthenticationChallenge(status)
            && !isAboutRange(status, request)
    }

    /// Whether the response itself allows storing, whatever the request.
    ///
    /// - Parameter isPart: whether a 206 has a storable part.
    func isStorable(_ status: Int, _ headers: HTTPHeaders, isPart: Bool = false) -> Bool {
        let control = CacheControl(of: headers)
        if case .timeToLive = rules { return status == 200 && !control.noStore && !headers.varyOnEverything }
        // Only final responses are stored, and a 304 is not one by itself. Except for 206 and 416, a `Content-Range`
        // has no meaning and is stored like any other field (RFC 9110, section 14.4).
        guard (200...599).contains(status), status != 206 || isPart, status != 304 else { return false }
        // Such a response concerns the credential. An account's entries outlive it, so the next token would be rejected
        // without a request.
        guard !Self.isAuthenticationChallenge(status) else { return false }
        // Section 5.2.2.3: `must-understand` overrides `no-store` for an understood status, and forbids storing any
        // other.
        let isUnderstood = Self.understands(status)
        if control.mustUnderstand ? !isUnderstood : control.noStore { return false }
        // No request could ever match it (section 4.1).
        guard !headers.varyOnEverything else { return false }
        // Many servers add a bare `private` to everything, so it does not suffice here: a stored failure could hide
        // later successes.
        return control.isPublic || control.maxAge != nil || headers.contains("Expires")
            || Self.isHeuristicallyCacheable(status)
    }

    private static func isAuthenticationChallenge(_ status: Int) -> Bool {
        status == 401 || status == 407
    }

    /// RFC 9110, section 15.1.
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Whether RFC 9110 defines the status. These rules then suffice to store it, except for 304.
    private static func understands(_ status: Int) -> Bool {
        switch status {
        case 200...206, 300...303, 305, 307, 308, 400...417, 421, 422, 426, 500...505: true
        default: false
        }
    }

    // MARK: The stored head

    /// The head under which a response is stored; nil if no request could ever match it.
    func head(of response: OriginResponse, for request: CachedRequest) -> CachedResponse.Head? {
        let headers = Self.dated(Self.endToEnd(response.headers), response)
        guard let fields = Self.selectingFields(headers, of: request) else { return nil }
        return CachedResponse.Head(
            statusCode: response.statusCode, headers: headers, requestTime: response.requestTime,
            responseTime: response.responseTime, selectingFields: fields)
    }

    /// The selecting fields (RFC 9111, section 4.1); nil for a `*`.
    static func selectingFields(
        _ headers: HTTPHeaders, of request: CachedRequest
    ) -> [CachedResponse.Head.SelectingField]? {
        let names = Set(headers.listMembers(of: "Vary"))
        guard !names.contains("*") else { return nil }
        return names.sorted().map { request.selectingField($0) }
    }

    /// The headers without hop-by-hop fields (RFC 9111, section 3.1).
    static func endToEnd(_ headers: HTTPHeaders) -> HTTPHeaders {
        let named = Set(headers.listMembers(of: "Connection"))
        return HTTPHeaders(
            headers.filter { field in
                let name = field.name.asciiLowercased
                return !hopByHop.contains(name) && !named.contains(name)
            })
    }

    private static let hopByHop: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// The headers, with the response time as `Date` where the response has no valid one (RFC 9110, section 6.6.1).
    static func dated(_ headers: HTTPHeaders, _ response: OriginResponse) -> HTTPHeaders {
        if let date = headers["Date"], HTTPDate.parse(date, now: response.responseTime) != nil { return headers }
        var headers = headers
        headers["Date"] = HTTPDate.format(response.responseTime)
        return headers
    }
}

extension HTTPHeaders {
    fileprivate var varyOnEverything: Bool { listMembers(of: "Vary").contains("*") }

    /// The members of a token list, in lower case (RFC 9110, section 5.6.1).
    func listMembers(of name: String) -> [String] {
        guard let value = self[name] else { return [] }
        return value.split(separator: ",").compactMap { member in
            let member = member.trimmingCharacters(in: .whitespaces).asciiLowercased
            return member.isEmpty ? nil : member
        }
    }
}
