// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// Sends one request to the server, and updates the store from the response.
struct CacheFetch: Sendable {
    let lookup: CacheLookup
    let stored: [CachedResponse]
    let conditions: CacheConditions?
    let cache: CacheStore
    /// Whether the fetch runs after a response was served. No call reads its outcome then.
    let isBackground: Bool
    private let sendTime: Locked<SendTime>

    /// Create it before the chain is detached: the detached chain copies the call's store, with the send time in it.
    init(
        _ lookup: CacheLookup, _ stored: [CachedResponse], _ conditions: CacheConditions?, in cache: CacheStore,
        isBackground: Bool = false
    ) {
        self.lookup = lookup
        self.stored = stored
        self.conditions = conditions
        self.cache = cache
        self.isBackground = isBackground
        sendTime = Locked(SendTime(lookup.context.clock.now))
        lookup.context.store[SendTime.self] = sendTime
    }

    /// - Parameters:
    ///   - waiting: the calls for which the chain was detached.
    ///   - next: sends a request through the rest of the chain, of this call or detached from it.
    func outcome(
        for waiting: CallGroup? = nil, _ next: (URLRequest) async -> Result<PulseResponse, PulseError>
    ) async -> FetchOutcome {
        for conditions in [conditions, nil] {
            // An inner plugin may serve the request, without a call to `willSend`.
            let now = lookup.context.clock.now
            sendTime.withLock { $0 = SendTime(now) }
            switch await next(lookup.request(with: conditions)) {
            case .failure(let error):
                return .failed(error)
            case .success(let response):
                let update = update(after: response, conditions, for: waiting)
                if let outcome = await perform(update, response) { return outcome }
            }
            // The 304 names none of the conditional responses. A request without conditions cannot get a 304 again.
            await cache.remove(.key(lookup.key), in: lookup.context)
        }
        return .failed(.invalidRequest(reason: "the server responds with 304 to a request without conditions"))
    }

    /// Whether waiting calls could use this outcome instead of sending their own requests.
    func isShareable(_ outcome: FetchOutcome) -> Bool {
        if case .failed = outcome { return true }
        guard let shared = outcome.shared else { return false }
        let freshness = CacheFreshness(of: shared.head, by: cache.policy, now: lookup.context.clock.now)
        return freshness.isFresh && !freshness.control.noCache
    }

    private func update(
        after response: PulseResponse, _ conditions: CacheConditions?, for waiting: CallGroup?
    ) -> CacheUpdate {
        // Headers that inner plugins marked as secret identify the user of the response. A call that has left, or does
        // not wait, has not received the marks yet.
        waiting?.tellSecrets(to: lookup.context.call)
        let origin = OriginResponse(
            statusCode: response.statusCode, headers: response.headers,
            bodyLength: response.bytes == nil ? response.data.count : nil, requestTime: sendTime.withLock { $0.time },
            responseTime: lookup.context.clock.now)
        return CacheUpdate(
            after: origin, to: lookup.rules, mode: lookup.mode, stored: stored.map(\.head), conditions: conditions,
            by: cache.policy)
    }

    /// Performs an update. Nil for a response that matches no stored one: the request must be resent without
    /// conditions.
    private func perform(_ update: CacheUpdate, _ response: PulseResponse) async -> FetchOutcome? {
        switch update {
        case .nothing:
            break
        case .store(let head):
            return await cache.store(response, under: head, for: lookup, readsItself: isBackground)
        case .remove:
            await cache.remove(.key(lookup.key), in: lookup.context)
        case .outdate(let index, let head):
            _ = await cache.store(CachedResponse(head: head, body: stored[index].body), for: lookup)
        case .confirm(let index, let head, let mayStore):
            let confirmed = await cache.confirm(
                CachedResponse(head: head, body: stored[index].body), mayStore: mayStore, for: lookup, by: response)
            if lookup.rules.method != .head { return confirmed }
        case .complete(let index, let head, let mayStore):
            guard let rest = conditions?.rest else { return nil }
            return await cache.complete(
                stored[index], rest, under: head, mayStore: mayStore, for: lookup, by: response)
        case .reuse(let index):
            response.discard()
            return .confirmed(stored[index], isStored: false)
        case .serveStale(let index, let use):
            return .fallback(index, use, response)
        case .refetch:
            response.discard()
            return nil
        }
        if isBackground { response.discard() }
        return .received(response, stored: nil)
    }
}

/// When the request was last sent, by the wall clock. It is set at the send and read when the response arrives, perhaps
/// in another call.
struct SendTime: PluginContext.Key, Sendable {
    typealias Value = Locked<SendTime>

    private(set) var time: Date
    /// Nil before the first send.
    private var attempt: Int?

    init(_ time: Date) {
        self.time = time
    }

    /// Only the first copy of an attempt counts: it is unknown which copy gets the response.
    mutating func note(attempt: Int, at time: Date) {
        guard self.attempt != attempt else { return }
        (self.attempt, self.time) = (attempt, time)
    }
}
