// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// How a response of the origin server changes the store (RFC 9111, sections 3 and 4.3).
enum CacheUpdate: Sendable, Equatable {
    /// The response concerns no stored entry.
    case nothing
    /// The response is stored under this head: a whole response, or a part (RFC 9111, section 3.3).
    case store(CachedResponse.Head)
    /// The stored response at this index is confirmed and served with this head; stored only if `mayStore`.
    case confirm(Int, CachedResponse.Head, mayStore: Bool)
    /// The stored response at this index counts as stale from now on: it is stored with this head.
    case outdate(Int, CachedResponse.Head)
    /// The response completes the stored parts at this index. The whole is served with this head; stored only if
    /// `mayStore`.
    case complete(Int, CachedResponse.Head, mayStore: Bool)
    /// The stored response at this index is valid and served unchanged: the 304 may not update it.
    case reuse(Int)
    /// The server failed; the stored response at this index may be served.
    case serveStale(Int, CacheUse)
    /// The response may not be stored, and the stored one is removed.
    case remove
    /// The response matches no stored entry: the request is resent without the cache's conditions.
    case refetch

    /// - Parameter conditions: the conditions that the request carried, or nil.
    init(
        after response: OriginResponse, to request: CachedRequest, mode: RequestOptions.Cache,
        stored: [CachedResponse.Head],
        conditions: CacheConditions?, by policy: CachePolicy
    ) {
        let (status, selected) = (response.statusCode, policy.select(from: stored, for: request))
        if status == 304, let conditions {
            self = policy.confirmation(by: response, of: stored, selected, conditions, request)
        } else if let rest = conditions?.rest, status == 206 || status == 416 {
            self = policy.completion(by: response, of: stored[rest.index], rest, request) ?? .refetch
        } else if CachePolicy.isServerFailure(status), let selected, request.canBeServed(by: stored[selected]),
            let use = policy.useAfterFailure(of: stored[selected], request, mode, now: response.responseTime)
        {
            self = .serveStale(selected, use)
        } else if request.method == .head {
            self = selected.map { policy.afterHead(response, stored[$0], $0, request) } ?? .nothing
        } else if status == 206 {
            self = policy.afterPart(response, to: request, selected.map { stored[$0] })
        } else if policy.mayStore(response, to: request), let head = policy.head(of: response, for: request) {
            self = .store(head)
        } else if selected != nil, CachePolicy.isDefinite(status, for: request), !request.directives.noStore {
            self = .remove
        } else {
            self = .nothing
        }
    }
}

/// A response of the server, as the caching rules see it.
struct OriginResponse: Sendable {
    let statusCode: Int
    let headers: HTTPHeaders
    /// The length of the body in bytes; nil while it is streamed.
    var bodyLength: Int?
    /// When the request was sent, by the wall clock.
    let requestTime: Date
    /// When the response arrived, by the wall clock.
    let responseTime: Date
}
