// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// One request to the cache, with everything that the cache needs to know about it.
final class CacheLookup: Sendable {
    let request: URLRequest
    let headers: [String: String]
    let rules: CachedRequest
    let mode: RequestOptions.Cache
    let key: CacheKey
    let context: PluginContext
    private let policy: CachePolicy
    /// The invalidation sequence at the start. After a later invalidation, this request stores nothing.
    let sequence: Int

    /// Nil for a request that the cache neither serves nor stores.
    init?(
        _ request: URLRequest, _ method: HTTPMethod, for context: PluginContext, by policy: CachePolicy, sequence: Int
    ) {
        switch context.delivery {
        case .buffered, .streamed: break
        case .file, .upgrade: return nil
        }
        guard context.options.cache != .bypass else { return nil }
        guard method == .get || method == .head || method == .query, let url = request.url else { return nil }
        guard case .inRequest = context.body else { return nil }
        let headers = request.allHTTPHeaderFields ?? [:]
        var digest: String?
        if method == .query {
            // Without a hash function, the body has no key.
            guard let known = Self.digest(of: request.httpBody ?? Data(), headers) else { return nil }
            digest = known
        } else if request.httpBody?.isEmpty == false {
            return nil
        }
        if let named = CacheURL.namedOrigin(in: headers, for: url) { digest = (digest ?? "") + " " + named }
        let call = context.call
        let marked = call.markedSecrets
        let redaction = call.environment.redaction
        let isSecret: @Sendable (String) -> Bool = {
            redaction.isSecret($0) || !marked.isEmpty && marked.contains($0.asciiLowercased)
        }
        rules = CachedRequest(method: method, headers: headers) { name, value in
            isSecret(name) || redaction.isSecret(name, value: value) ? CacheDigest.hex(value) ?? value : value
        }
        guard policy.canServe(rules) else { return nil }
        key = CacheKey(
            partition: CachePartition.name(account: context.account.identifier, headers, isSecret: isSecret),
            url: CacheURL.normalized(url), bodyDigest: digest)
        self.request = request
        self.headers = headers
        self.context = context
        self.policy = policy
        self.sequence = sequence
        mode = context.options.cache ?? .default
    }

    /// The digest of a QUERY's body: its bytes and the fields that describe them.
    private static func digest(of body: Data, _ headers: [String: String]) -> String? {
        let kind = ["Content-Type", "Content-Encoding", "Content-Language"].map { headers.header($0) ?? "" }
        return CacheDigest.hex(Data((kind.joined(separator: "\n") + "\n").utf8) + body)
    }

    /// The strategy for this request, given the entries under its key.
    ///
    /// - Parameter mode: the call's own by default.
    func strategy(for stored: [CachedResponse], mode: RequestOptions.Cache? = nil) -> CacheStrategy {
        CacheStrategy(
            for: rules, mode: mode ?? self.mode, stored: stored.map(\.head), by: policy, now: context.clock.now)
    }

    /// The stored response to serve when the server fails; nil if none may be served.
    func useAfterFailure(for stored: [CachedResponse], isDisconnected: Bool) -> (index: Int, use: CacheUse)? {
        let heads = stored.map(\.head)
        guard let index = policy.select(from: heads, for: rules), rules.canBeServed(by: heads[index]) else {
            return nil
        }
        let use = policy.useAfterFailure(
            of: heads[index], rules, mode, isDisconnected: isDisconnected, now: context.clock.now)
        return use.map { (index, $0) }
    }

    /// A description of the first credential that the sent request has and this request does not.
    func unseenCredential(in sent: URLRequest?) -> String? {
        sent.flatMap { CachePartition.unseenCredential(in: $0, seenIn: request, of: context.call) }
    }

    var tags: Set<String> { context.call.options.tag.map { [$0] } ?? [] }

    var isStreamed: Bool {
        if case .streamed = context.delivery { true } else { false }
    }

    /// The request for the server, with the conditions. If the call bypasses this cache, a directive bypasses shared
    /// caches too.
    func request(with conditions: CacheConditions?) -> URLRequest {
        var request = request
        for (name, value) in conditions?.fields(with: rules.conditions) ?? [] {
            request.setValue(value, forHTTPHeaderField: name)
        }
        if rules.asksForRange || conditions?.rest != nil, headers.header("Accept-Encoding") == nil {
            // A part of a coded body cannot be decoded, or joined with other parts.
            request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
        guard headers.header("Cache-Control") == nil else { return request }
        switch mode {
        case .reload: request.setValue("no-cache", forHTTPHeaderField: "Cache-Control")
        case .revalidate: request.setValue("max-age=0", forHTTPHeaderField: "Cache-Control")
        case .default, .cacheElseNetwork, .onlyIfCached, .staleWhileRevalidate, .bypass: break
        }
        return request
    }
}
