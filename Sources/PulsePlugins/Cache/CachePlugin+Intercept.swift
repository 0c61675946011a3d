// SPDX-License-Identifier: MIT

public import PulseCore
import PulseStorage

extension CachePlugin {
    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        let method = HTTPMethod(rawValue: request.httpMethod ?? "GET") ?? context.method
        let exchange = CacheLookup(
            request, method, for: context, by: keeper.policy, sequence: keeper.begin(in: context))
        guard let exchange else { return try await pass(request, method, context, next) }
        let stored =
            if let memory = keeper.memory { memory.responsesAtOnce(for: exchange.key) } else {
                await keeper.storage.responses(for: exchange.key)
            }
        guard stored.isEmpty, case .forward(nil) = plan(for: exchange, stored) else {
            return try await answer(exchange, stored, next)
        }
        return try await fetch(exchange, [], nil, next)
    }

    private func plan(for exchange: CacheLookup, _ stored: [CachedResponse]) -> CachePlan {
        keeper.policy.plan(
            for: exchange.rules, mode: exchange.mode, stored: stored.map(\.head), now: exchange.context.clock.now)
    }

    // Not inlined: its temporaries would take room in the frame of a call that finds nothing in the store.
    @inline(never)
    private func answer(
        _ exchange: CacheLookup, _ stored: [CachedResponse], _ next: PluginChain
    ) async throws -> PulseResponse {
        let plan = plan(for: exchange, stored)
        switch plan {
        case .bypass:
            return try await next(exchange.request)
        case .serve(let index, let use):
            if let response = try await hit(stored, index, use, exchange) {
                if use.revalidates { validateBehind(exchange, stored, next) }
                return response
            }
            return try await fetchAfterDamage(exchange, next)
        case .forward(let conditions):
            return try await fetch(exchange, stored, conditions, next)
        case .gatewayTimeout, .cacheMiss:
            return try refuse(plan, exchange)
        }
    }

    package var hooks: PluginHooks { .willSend }

    public func willSend(_ request: URLRequest, for context: PluginContext) async {
        // The answer of the last attempt is stored, and its age counts from that attempt's start.
        let now = context.clock.now
        context.store[CacheSendTime.self]?.withLock { $0.note(attempt: context.attempt, at: now) }
    }

    /// Passes on a request that the cache does not answer, and invalidates what it changes.
    private func pass(
        _ request: URLRequest, _ method: HTTPMethod, _ context: PluginContext, _ next: PluginChain
    ) async throws -> PulseResponse {
        guard !method.isSafe, let url = request.url else { return try await next(request) }
        let (result, changed) = await next.outcome(ofChange: request, method, at: url, in: context.call)
        await forget(changed, context)
        return try result.get()
    }

    private func forget(_ urls: [URL], _ context: PluginContext) async {
        for url in urls {
            do {
                try await keeper.invalidate(.url(CacheURL.normalized(url)), url)
            } catch {
                context.emit(.warning("the cache cannot forget what has changed: \(PulseError(wrapping: error))"))
            }
        }
    }

    // MARK: From the store

    /// The answer to a hit; nil if the stored body is damaged.
    // It takes an index, since the element would take room in the frame of each call, and most find nothing in the
    // store.
    private func hit(
        _ stored: [CachedResponse], _ index: Int, _ use: CacheUse, _ exchange: CacheLookup
    ) async throws -> PulseResponse? {
        let response = try await CacheHit(stored[index], use.origin, age: use.age).response(to: exchange)
        guard let response else { return nil }
        keeper.counters.withLock { counters in
            if use.origin == .stale { counters.staleHits += 1 } else { counters.hits += 1 }
        }
        exchange.context.emit(.cacheHit(exchange.context.summary))
        return response
    }

    /// Asks the network in place of a stored answer that cannot be read, if the call allows it.
    private func fetchAfterDamage(_ exchange: CacheLookup, _ next: PluginChain) async throws -> PulseResponse {
        await keeper.remove(.key(exchange.key), in: exchange.context)
        let plan = plan(for: exchange, [])
        guard case .forward = plan else { return try refuse(plan, exchange) }
        return try await fetch(exchange, [], nil, next)
    }

    /// The outcome of a call that wants only what is stored, and finds nothing.
    private func refuse(_ plan: CachePlan, _ exchange: CacheLookup) throws -> PulseResponse {
        keeper.counters.withLock { $0.misses += 1 }
        exchange.context.emit(.cacheMiss(exchange.context.summary))
        guard plan == .gatewayTimeout else { throw PulseError.cacheMiss }
        return PulseResponse(statusCode: 504, request: exchange.request, origin: .cache)
    }

    // MARK: From the server

    private func fetch(
        _ exchange: CacheLookup, _ stored: [CachedResponse], _ conditions: CacheConditions?, _ next: PluginChain
    ) async throws -> PulseResponse {
        let fetch = CacheFetch(exchange: exchange, stored: stored, conditions: conditions, cache: keeper)
        guard exchange.mayBeShared, !next.holdsPluginsOfTheEndpoint, !WorkScope.isWaitedFor,
            !keeper.isUnshareable(exchange.key), case let key = exchange.flightKey(), key.terms != nil
        else { return try await fetchAlone(fetch, next) }
        // A call that has ended while it waited further out begins nothing.
        try exchange.context.call.checkCancellation()
        let share = await keeper.flights.share(of: key, for: exchange.context.call) {
            let outcome = await fetch.outcome(of: next.detached(for: $0), for: $0)
            self.keeper.note(exchange.key, isShareable: self.isShareable(outcome, exchange))
            return outcome
        }
        guard let share else { return try await fetchAlone(fetch, next) }
        try exchange.context.call.checkCancellation()
        if !share.outcome.isCancelled {
            if share.isFirst { return try await finish(share.outcome, fetch, next) }
            // Nobody gets the outcome of another's credential, not even a failure.
            if exchange.unseenCredential(in: share.sent) == nil,
                let response = try await follow(share.outcome, fetch, next)
            {
                return response
            }
        }
        // What came is for another request alone, or was cancelled by nobody who waited.
        return try await finish(await fetch.outcome(of: next), fetch, next)
    }

    private func fetchAlone(_ fetch: CacheFetch, _ next: PluginChain) async throws -> PulseResponse {
        let exchange = fetch.exchange
        let outcome = await fetch.outcome(of: next)
        if isShareable(outcome, exchange) { keeper.note(exchange.key, isShareable: true) }
        if case .answered(let response, _) = outcome { return missed(response, exchange) }
        return try await finish(outcome, fetch, next)
    }

    private func missed(_ response: PulseResponse, _ exchange: CacheLookup) -> PulseResponse {
        keeper.counters.withLock { $0.misses += 1 }
        exchange.context.emit(.cacheMiss(exchange.context.summary))
        return response
    }

    /// Makes an answer of what came of this call's own request.
    private func finish(
        _ outcome: CacheOutcome, _ fetch: CacheFetch, _ next: PluginChain
    ) async throws -> PulseResponse {
        let exchange = fetch.exchange
        switch outcome {
        case .answered(let response, _):
            return missed(response, exchange)
        case .confirmed(let confirmed, _):
            if let response = try await CacheHit(confirmed, .revalidated, age: nil).response(to: exchange) {
                keeper.counters.withLock { $0.revalidations += 1 }
                exchange.context.emit(.cacheRevalidated(exchange.context.summary))
                return response
            }
            await keeper.remove(.key(exchange.key), in: exchange.context)
            let anew = CacheFetch(exchange: exchange, stored: [], conditions: nil, cache: keeper)
            return try await finish(await anew.outcome(of: next), anew, next)
        case .completed(let response):
            keeper.counters.withLock { $0.revalidations += 1 }
            exchange.context.emit(.cacheRevalidated(exchange.context.summary))
            return response
        case .standIn(let index, let use, let refused):
            guard let response = try await hit(fetch.stored, index, use, exchange) else { return refused }
            refused.bytes?.cancel()
            return response
        case .failed(let error):
            return try await standIn(for: error, fetch)
        }
    }

    /// Makes an answer of what came of another call's request; nil if this one has to ask for itself.
    private func follow(
        _ outcome: CacheOutcome, _ fetch: CacheFetch, _ next: PluginChain
    ) async throws -> PulseResponse? {
        let exchange = fetch.exchange
        let shared: CachedResponse
        switch outcome {
        case .answered(_, let stored?): shared = stored
        case .confirmed(let confirmed, isKept: true): shared = confirmed
        case .failed(let error): return try await standIn(for: error, fetch)
        // The server would tell each of them the same, and it has trouble enough.
        case .standIn: return try await ownStandIn(fetch, isDisconnected: false)
        case .answered, .confirmed, .completed: return nil
        }
        let plan = keeper.policy.plan(
            for: exchange.rules, mode: exchange.mode, stored: [shared.head], now: exchange.context.clock.now)
        guard case .serve(_, let use) = plan else { return nil }
        // It may be past its lifetime, if this caller allows that, and the caller is to see that it is stale.
        guard use.origin != .stale else { return try await hit([shared], 0, use, exchange) }
        let response = try await CacheHit(shared, .coalesced, age: use.age).response(to: exchange)
        guard let response else { return nil }
        keeper.counters.withLock { $0.coalesced += 1 }
        exchange.context.emit(.cacheHit(exchange.context.summary))
        return response
    }

    /// A stored answer in place of an error, where that is allowed; else the error.
    private func standIn(for error: PulseError, _ fetch: CacheFetch) async throws -> PulseResponse {
        if error.meansThatNobodyAnswered,
            let response = try await ownStandIn(fetch, isDisconnected: error.meansNoConnection)
        {
            return response
        }
        keeper.counters.withLock { $0.misses += 1 }
        fetch.exchange.context.emit(.cacheMiss(fetch.exchange.context.summary))
        throw error
    }

    /// The call's own stored answer that may stand in for a server that failed; nil without one.
    private func ownStandIn(_ fetch: CacheFetch, isDisconnected: Bool) async throws -> PulseResponse? {
        let (exchange, heads) = (fetch.exchange, fetch.stored.map(\.head))
        guard let index = keeper.policy.select(from: heads, for: exchange.rules),
            exchange.rules.isAnswerable(by: heads[index]),
            let use = keeper.policy.useAfterFailure(
                of: heads[index], exchange.rules, exchange.mode, isDisconnected: isDisconnected,
                now: exchange.context.clock.now)
        else { return nil }
        return try await hit(fetch.stored, index, use, exchange)
    }

    /// Asks the server after an answer was served past its lifetime.
    private func validateBehind(_ exchange: CacheLookup, _ stored: [CachedResponse], _ next: PluginChain) {
        guard exchange.rules.method != .head else { return }
        let plan = keeper.policy.plan(
            for: exchange.rules, mode: .revalidate, stored: stored.map(\.head), now: exchange.context.clock.now)
        guard case .forward(let conditions) = plan else { return }
        let fetch = CacheFetch(
            exchange: exchange, stored: stored, conditions: conditions, cache: keeper, isBehind: true)
        // One for each answer, on whatever terms.
        let key = exchange.flightKey(isOwn: next.holdsPluginsOfTheEndpoint)
        keeper.flights.beginBehind(key, unless: { $0.key == exchange.key }) {
            await fetch.outcome(of: next.detached(for: $0), for: $0)
        }
    }

    private func isShareable(_ outcome: CacheOutcome, _ exchange: CacheLookup) -> Bool {
        let shared: CachedResponse
        switch outcome {
        case .answered(_, let stored?): shared = stored
        case .confirmed(let confirmed, isKept: true): shared = confirmed
        case .failed: return true
        case .answered, .confirmed, .completed, .standIn: return false
        }
        return CacheFreshness(of: shared.head, by: keeper.policy, now: exchange.context.clock.now).isUsableByOthers
    }
}

extension CacheFreshness {
    fileprivate var isUsableByOthers: Bool { isFresh && !control.noCache }
}
