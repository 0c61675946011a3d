// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// What came of asking the server.
enum CacheOutcome: Sendable {
    /// The server's own answer, and what was stored of it.
    case answered(PulseResponse, stored: CachedResponse?)
    /// The stored answer that the server confirmed, under its new head; `isKept` if others may use it.
    case confirmed(CachedResponse, isKept: Bool)
    /// The server failed, and the stored answer of that index may stand in.
    case standIn(Int, CacheUse, PulseResponse)
    case failed(PulseError)

    var isCancelled: Bool {
        if case .failed(let error) = self { error.kind == .cancelled } else { false }
    }
}

/// Asks the server for one exchange, and does to the store what its answer asks for.
struct CacheFetch: Sendable {
    let exchange: CacheExchange
    let stored: [CachedResponse]
    let conditions: CacheConditions?
    let cache: CacheKeeper
    private let sendTime: CacheSendTime
    /// It goes on behind an answer, and nobody else reads what comes of it.
    private let isBehind: Bool

    /// Before a chain is detached for it: what is noted in the call's store goes along then.
    init(
        exchange: CacheExchange, stored: [CachedResponse], conditions: CacheConditions?, cache: CacheKeeper,
        isBehind: Bool = false
    ) {
        self.exchange = exchange
        self.stored = stored
        self.conditions = conditions
        self.cache = cache
        self.isBehind = isBehind
        sendTime = CacheSendTime(exchange.context.clock.now)
        exchange.context.store[CacheSendTime.self] = sendTime
    }

    /// - Parameter next: the rest of the chain, of this call or detached from it.
    /// - Parameter waiting: those for whom it was detached.
    func outcome(of next: PluginChain, for waiting: WaitingCalls? = nil) async -> CacheOutcome {
        let outcome = await outcome(of: next, conditions, for: waiting)
        if let outcome { return outcome }
        // Nothing that was asked about is what the server speaks of: without conditions it cannot answer so again.
        await cache.remove(.key(exchange.key), in: exchange.context)
        return await self.outcome(of: next, nil, for: waiting)
            ?? .failed(.invalidRequest(reason: "the server answers 304 to a request without conditions"))
    }

    /// Nil for a 304 that is about none of the stored answers.
    private func outcome(
        of next: PluginChain, _ conditions: CacheConditions?, for waiting: WaitingCalls?
    ) async -> CacheOutcome? {
        let clock = exchange.context.clock
        // Of a request that no plugin's `willSend` sees, answered further in, this is the time.
        sendTime.value = clock.now
        switch await next.result(exchange.request(with: conditions)) {
        case .failure(let error):
            return .failed(error)
        case .success(let response):
            // What was marked as a secret further in tells whose answer it is. A call that has left meanwhile, or does
            // not wait, has not learned of it.
            waiting?.tellSecrets(to: exchange.context.call)
            let answer = CachedAnswer(
                statusCode: response.statusCode, headers: response.headers, requestTime: sendTime.value,
                responseTime: clock.now)
            let verdict = cache.policy.verdict(
                on: answer, to: exchange.rules, mode: exchange.mode, stored: stored.map(\.head), conditions: conditions)
            return await perform(verdict, response)
        }
    }

    private func perform(_ verdict: CacheVerdict, _ response: PulseResponse) async -> CacheOutcome? {
        switch verdict {
        case .pass:
            return passed(response)
        case .store(let head):
            return await cache.store(response, under: head, for: exchange, readsItself: isBehind)
        case .replace:
            await cache.remove(.key(exchange.key), in: exchange.context)
            return passed(response)
        case .confirm(let index, let head, let keeps):
            let confirmed = await cache.confirm(stored[index], head, keeps: keeps, for: exchange, by: response)
            return exchange.rules.method == .head ? .answered(response, stored: nil) : confirmed
        case .serveStale(let index, let use):
            return .standIn(index, use, response)
        case .refetch:
            response.bytes?.cancel()
            return nil
        }
    }

    private func passed(_ response: PulseResponse) -> CacheOutcome {
        if isBehind { response.bytes?.cancel() }
        return .answered(response, stored: nil)
    }
}
