// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// One request on its way through the cache, with what the cache needs to know of it.
// A class, as it is handed on through asynchronous functions: in each of their frames it takes one word.
final class CacheLookup: Sendable {
    let request: URLRequest
    let headers: [String: String]
    let rules: CachedRequest
    let mode: RequestOptions.Cache
    let key: CacheKey
    let context: PluginContext
    /// The plugin's count of invalidations: what was stored or under way before a later one does not count.
    let sequence: Int

    /// Nil for a request that the cache neither answers nor stores.
    init?(
        _ request: URLRequest, _ method: HTTPMethod, for context: PluginContext, by policy: CachePolicy, sequence: Int
    ) {
        switch context.delivery {
        case .buffered, .streamed: break
        case .file, .upgrade: return nil
        }
        guard method == .get || method == .head || method == .query, let url = request.url else { return nil }
        guard case .inRequest = context.body else { return nil }
        let headers = request.allHTTPHeaderFields ?? [:]
        var digest: String?
        if method == .query {
            // Without a hash function there is no key for it.
            guard let known = Self.digest(of: request.httpBody ?? Data(), headers) else { return nil }
            digest = known
        } else if request.httpBody?.isEmpty == false {
            return nil
        }
        let call = context.call
        let marked = call.markedSecrets
        let redaction = call.environment.redaction
        let isSecret: @Sendable (String) -> Bool = {
            redaction.isSecret($0) || !marked.isEmpty && marked.contains($0.asciiLowercased)
        }
        rules = CachedRequest(method: method, headers: headers) { name, value in
            isSecret(name) ? CacheDigest.hex(value) ?? value : value
        }
        guard policy.canServe(rules) else { return nil }
        key = CacheKey(
            partition: CachePartition.name(account: context.store[AccountID.self], headers, isSecret: isSecret),
            url: CacheURL.normalized(url), bodyDigest: digest)
        self.request = request
        self.headers = headers
        self.context = context
        self.sequence = sequence
        mode = context.options.cache ?? .default
    }

    /// The digest of a QUERY's body: of its bytes, and of how they are to be read.
    private static func digest(of body: Data, _ headers: [String: String]) -> String? {
        let kind = ["Content-Type", "Content-Encoding", "Content-Language"].map { headers.header($0) ?? "" }
        return CacheDigest.hex(Data((kind.joined(separator: "\n") + "\n").utf8) + body)
    }

    func isCredential(_ name: String) -> Bool {
        context.call.isCredential(header: name)
    }

    /// The first credential that the sent request has and this one has not, in words.
    func unseenCredential(in sent: URLRequest?) -> String? {
        sent.flatMap {
            CachePartition.unseenCredential(in: $0, seen: headers, at: request.url, isSecret: isCredential)
        }
    }

    var tags: Set<String> { context.call.options.tag.map { [$0] } ?? [] }

    var isStreamed: Bool {
        if case .streamed = context.delivery { true } else { false }
    }

    /// The request as it goes to the server: with the conditions, and where the call's options bypass this cache, with
    /// a directive to bypass those on the way.
    func request(with conditions: CacheConditions?) -> URLRequest {
        var request = request
        for (name, value) in conditions?.fields(with: rules.conditions) ?? [] {
            request.setValue(value, forHTTPHeaderField: name)
        }
        if rules.asksForRange || conditions?.rest != nil, headers.header("Accept-Encoding") == nil {
            // A part of a coded body could not be decoded, nor be joined with what has been.
            request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
        guard headers.header("Cache-Control") == nil else { return request }
        switch mode {
        case .reload: request.setValue("no-cache", forHTTPHeaderField: "Cache-Control")
        case .revalidate: request.setValue("max-age=0", forHTTPHeaderField: "Cache-Control")
        case .default, .cacheElseNetwork, .onlyIfCached, .staleWhileRevalidate: break
        }
        return request
    }
}
