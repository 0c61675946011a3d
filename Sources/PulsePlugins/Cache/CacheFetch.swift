// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// What came of asking the server.
// Indirect, as it passes through asynchronous functions: in each of their frames it takes one word.
indirect enum CacheOutcome: Sendable {
    /// The server's own answer, and what was stored of it.
    case received(PulseResponse, stored: CachedResponse?)
    /// The stored answer that the server confirmed, under its new head; `isKept` if others may use it.
    case confirmed(CachedResponse, isStored: Bool)
    /// The stored parts and the rest together, as a stream.
    case completed(PulseResponse)
    /// The server failed, and the stored answer of that index may stand in.
    case fallback(Int, CacheUse, PulseResponse)
    case failed(PulseError)

    var isCancelled: Bool {
        if case .failed(let error) = self { error.kind == .cancelled } else { false }
    }
}

/// Asks the server for one exchange, and changes the store as its answer says.
struct CacheFetch: Sendable {
    let lookup: CacheLookup
    let stored: [CachedResponse]
    let conditions: CacheConditions?
    let cache: HTTPCache
    private let sendTime: Locked<CacheSendTime.Sending>
    /// Whether it runs after an answer was served, so that nobody else reads its outcome.
    private let isBackground: Bool

    /// To be made before a chain is detached for it, so that what is noted in the call's store goes along.
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

    /// - Parameter next: the rest of the chain, of this call or detached from it.
    /// - Parameter waiting: the calls for which it was detached.
    func outcome(of next: PluginChain, for waiting: CallGroup? = nil) async -> CacheOutcome {
        // Here and not in the function below: most answers change nothing in the store, and it would be one more
        // asynchronous call.
        noteSending()
        switch await next.result(lookup.request(with: conditions)) {
        case .failure(let error):
            return .failed(error)
        case .success(let response):
            let verdict = judged(response, conditions, for: waiting)
            if case .pass = verdict { return passed(response) }
            return await outcome(by: verdict, response, of: next, for: waiting)
        }
    }

    private func outcome(
        by verdict: CacheVerdict, _ response: PulseResponse, of next: PluginChain, for waiting: CallGroup?
    ) async -> CacheOutcome {
        if let outcome = await perform(verdict, response) { return outcome }
        // The server speaks of none of the responses that it was asked about: without conditions it cannot do so again.
        await cache.remove(.key(lookup.key), in: lookup.context)
        noteSending()
        switch await next.result(lookup.request(with: nil)) {
        case .failure(let error):
            return .failed(error)
        case .success(let response):
            return await perform(judged(response, nil, for: waiting), response)
                ?? .failed(.invalidRequest(reason: "the server answers 304 to a request without conditions"))
        }
    }

    /// Notes the time of a request that is answered further in and that no `willSend` sees.
    private func noteSending() {
        let now = lookup.context.clock.now
        sendTime.withLock { $0 = CacheSendTime.Sending(now) }
    }

    private func judged(
        _ response: PulseResponse, _ conditions: CacheConditions?, for waiting: CallGroup?
    ) -> CacheVerdict {
        // Headers that were marked as secret further in tell whose answer it is. A call that has left meanwhile, or
        // does not wait, has not been told of them.
        waiting?.tellSecrets(to: lookup.context.call)
        let origin = OriginResponse(
            statusCode: response.statusCode, headers: response.headers,
            bodyLength: response.bytes == nil ? response.data.count : nil, requestTime: sendTime.withLock { $0.time },
            responseTime: lookup.context.clock.now)
        return cache.policy.verdict(
            on: origin, to: lookup.rules, mode: lookup.mode, stored: stored.map(\.head), conditions: conditions)
    }

    /// Performs a verdict; nil for a response that fits none of the stored ones, so that the request has to go out as
    /// it came.
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
        case .complete(let index, let head, let mayStore):
            guard let rest = conditions?.rest else { return nil }
            let known = stored[index]
            guard response.bytes == nil else {
                return await cache.stream(
                    response, completing: known, rest, under: head, mayStore: mayStore, for: lookup)
            }
            return await cache.complete(known, rest, under: head, mayStore: mayStore, for: lookup, by: response)
        case .reuse(let index):
            response.bytes?.cancel()
            return .confirmed(stored[index], isStored: false)
        case .serveStale(let index, let use):
            return .fallback(index, use, response)
        case .refetch:
            response.bytes?.cancel()
            return nil
        }
    }

    private func passed(_ response: PulseResponse) -> CacheOutcome {
        if isBackground { response.bytes?.cancel() }
        return .received(response, stored: nil)
    }
}
