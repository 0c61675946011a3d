// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The outcome of a request to the server.
enum CacheOutcome: Sendable {
    /// The server's response, and the entry that was stored from it.
    case received(PulseResponse, stored: CachedResponse?)
    /// The stored response that the server confirmed, with its updated head; `isStored` if other calls may use it.
    case confirmed(CachedResponse, isStored: Bool)
    /// The stored parts and the rest, joined into one stream.
    case completed(PulseResponse)
    /// The server failed, and the stored response at this index may be served instead.
    case fallback(Int, CacheUse, PulseResponse)
    case failed(PulseError)

    var isCancelled: Bool {
        if case .failed(let error) = self { error.kind == .cancelled } else { false }
    }
}

/// Sends one request to the server, and updates the store from the response.
struct CacheFetch: Sendable {
    let lookup: CacheLookup
    let stored: [CachedResponse]
    let conditions: CacheConditions?
    let cache: HTTPCache
    private let sendTime: Locked<CacheSendTime.Sending>
    /// Whether the fetch runs after a response was served. No call reads its outcome then.
    private let isBackground: Bool

    /// Create it before the chain is detached: the detached chain copies the call's store, with the send time in it.
    init(
        lookup: CacheLookup, stored: [CachedResponse], conditions: CacheConditions?, cache: HTTPCache,
        isBackground: Bool = false
    ) {
        self.lookup = lookup
        self.stored = stored
        self.conditions = conditions
        self.cache = cache
        self.isBackground = isBackground
        sendTime = Locked(CacheSendTime.Sending(lookup.context.clock.now))
        lookup.context.store[CacheSendTime.self] = sendTime
    }

    /// - Parameters:
    ///   - waiting: the calls for which the chain was detached.
    ///   - next: sends a request through the rest of the chain, of this call or detached from it.
    func outcome(
        for waiting: CallGroup? = nil, _ next: (URLRequest) async -> Result<PulseResponse, PulseError>
    ) async -> CacheOutcome {
        for conditions in [conditions, nil] {
            noteSending()
            switch await next(lookup.request(with: conditions)) {
            case .failure(let error):
                return .failed(error)
            case .success(let response):
                let verdict = judged(response, conditions, for: waiting)
                if let outcome = await perform(verdict, response) { return outcome }
            }
            // The 304 names none of the conditional responses. A request without conditions cannot get a 304 again.
            await cache.remove(.key(lookup.key), in: lookup.context)
        }
        return .failed(.invalidRequest(reason: "the server responds with 304 to a request without conditions"))
    }

    /// Records the send time of a request that an inner plugin may serve, without a call to `willSend`.
    private func noteSending() {
        let now = lookup.context.clock.now
        sendTime.withLock { $0 = CacheSendTime.Sending(now) }
    }

    private func judged(
        _ response: PulseResponse, _ conditions: CacheConditions?, for waiting: CallGroup?
    ) -> CacheVerdict {
        // Headers that inner plugins marked as secret tell whose response it is. A call that has left, or does not
        // wait, has not received the marks yet.
        waiting?.tellSecrets(to: lookup.context.call)
        let origin = OriginResponse(
            statusCode: response.statusCode, headers: response.headers,
            bodyLength: response.bytes == nil ? response.data.count : nil, requestTime: sendTime.withLock { $0.time },
            responseTime: lookup.context.clock.now)
        return cache.policy.verdict(
            on: origin, to: lookup.rules, mode: lookup.mode, stored: stored.map(\.head), conditions: conditions)
    }

    /// Performs a verdict. Nil for a response that fits no stored one: the request must be resent without conditions.
    private func perform(_ verdict: CacheVerdict, _ response: PulseResponse) async -> CacheOutcome? {
        switch verdict {
        case .pass:
            return passed(response)
        case .store(let head):
            return await cache.store(response, under: head, for: lookup, readsItself: isBackground)
        case .replace:
            await cache.remove(.key(lookup.key), in: lookup.context)
            return passed(response)
        case .confirm(let index, let head, let mayStore):
            let confirmed = await cache.confirm(stored[index], head, mayStore: mayStore, for: lookup, by: response)
            return lookup.rules.method == .head ? .received(response, stored: nil) : confirmed
        case .outdate(let index, let head):
            _ = await cache.store(CachedResponse(head: head, body: stored[index].body), for: lookup)
            return passed(response)
        case .complete(let index, let head, let mayStore):
            guard let rest = conditions?.rest else { return nil }
            let known = stored[index]
            guard response.bytes == nil else {
                return await cache.stream(
                    response, completing: known, rest, under: head, mayStore: mayStore, for: lookup)
            }
            return await cache.complete(known, rest, under: head, mayStore: mayStore, for: lookup, by: response)
        case .reuse(let index):
            response.discard()
            return .confirmed(stored[index], isStored: false)
        case .serveStale(let index, let use):
            return .fallback(index, use, response)
        case .refetch:
            response.discard()
            return nil
        }
    }

    private func passed(_ response: PulseResponse) -> CacheOutcome {
        if isBackground { response.discard() }
        return .received(response, stored: nil)
    }
}
