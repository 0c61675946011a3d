// SPDX-License-Identifier: MIT

public import PulseCore
import PulseStorage

extension CachePlugin {
    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        let method = HTTPMethod(rawValue: request.httpMethod ?? "GET") ?? context.method
        let lookup = CacheLookup(
            request, method, for: context, by: cache.policy, sequence: cache.begin(in: context))
        guard let lookup else { return try await pass(request, method, context, next) }
        let stored =
            if let memory = cache.memory { memory.responsesAtOnce(for: lookup.key) } else {
                await cache.storage.responses(for: lookup.key)
            }
        guard stored.isEmpty, case .forward(nil) = plan(for: lookup, stored) else {
            return try await respond(lookup, stored, next)
        }
        return try await fetch(lookup, [], nil, next)
    }

    private func plan(for lookup: CacheLookup, _ stored: [CachedResponse]) -> CachePlan {
        cache.policy.plan(
            for: lookup.rules, mode: lookup.mode, stored: stored.map(\.head), now: lookup.context.clock.now)
    }

    private func respond(
        _ lookup: CacheLookup, _ stored: [CachedResponse], _ next: PluginChain
    ) async throws -> PulseResponse {
        let plan = plan(for: lookup, stored)
        switch plan {
        case .bypass:
            return try await next(lookup.request)
        case .serve(let index, let use):
            if let response = try await hit(stored[index], use, lookup) {
                if use.revalidates { validateInBackground(lookup, stored, next) }
                return response
            }
            return try await fetchAfterDamage(lookup, next)
        case .forward(let conditions):
            return try await fetch(lookup, stored, conditions, next)
        case .gatewayTimeout, .cacheMiss:
            return try refuse(plan, lookup)
        }
    }

    package var hooks: PluginHooks { .willSend }

    public func willSend(_ request: URLRequest, for context: PluginContext) async {
        // The response of the last attempt is stored. Its age counts from the start of that attempt.
        let now = context.clock.now
        context.store[CacheSendTime.self]?.withLock { $0.note(attempt: context.attempt, at: now) }
    }

    /// Forwards a request that the cache does not serve, and invalidates what it changes.
    private func pass(
        _ request: URLRequest, _ method: HTTPMethod, _ context: PluginContext, _ next: PluginChain
    ) async throws -> PulseResponse {
        guard !method.isSafe, let url = request.url else { return try await next(request) }
        let (result, changed) = await next.outcome(ofChange: request, method, at: url, in: context.call)
        await invalidate(changed, context)
        return try result.get()
    }

    private func invalidate(_ urls: [URL], _ context: PluginContext) async {
        for url in urls {
            do {
                try await cache.invalidate(.url(CacheURL.normalized(url)), url)
            } catch {
                context.emit(
                    .warning(
                        "the cache could not invalidate what a request has changed: \(PulseError(wrapping: error))"))
            }
        }
    }

    // MARK: From the store

    /// The response for a hit; nil if the stored body is damaged.
    private func hit(
        _ stored: CachedResponse, _ use: CacheUse, _ lookup: CacheLookup
    ) async throws -> PulseResponse? {
        let response = try await CacheHit(stored, use.origin, age: use.age).response(to: lookup)
        guard let response else { return nil }
        cache.counters.withLock { counters in
            if use.origin == .stale { counters.staleHits += 1 } else { counters.hits += 1 }
        }
        lookup.context.emit(.cacheHit(lookup.context.summary))
        return response
    }

    /// Removes an entry that cannot be read, and sends the request to the server if the call allows it.
    private func fetchAfterDamage(_ lookup: CacheLookup, _ next: PluginChain) async throws -> PulseResponse {
        await cache.remove(.key(lookup.key), in: lookup.context)
        let plan = plan(for: lookup, [])
        guard case .forward = plan else { return try refuse(plan, lookup) }
        return try await fetch(lookup, [], nil, next)
    }

    /// The outcome of a call that accepts only stored responses and misses.
    private func refuse(_ plan: CachePlan, _ lookup: CacheLookup) throws -> PulseResponse {
        cache.counters.withLock { $0.misses += 1 }
        lookup.context.emit(.cacheMiss(lookup.context.summary))
        guard plan == .gatewayTimeout else { throw PulseError.cacheMiss }
        return PulseResponse(statusCode: 504, request: lookup.request, origin: .cache)
    }

    // MARK: From the server

    private func fetch(
        _ lookup: CacheLookup, _ stored: [CachedResponse], _ conditions: CacheConditions?, _ next: PluginChain
    ) async throws -> PulseResponse {
        let fetch = CacheFetch(lookup: lookup, stored: stored, conditions: conditions, cache: cache)
        guard lookup.mayBeShared, !next.holdsPluginsOfTheEndpoint, !WorkScope.mayBlockOtherCalls,
            !cache.isUnshareable(lookup.key), case let key = lookup.flightKey(), key.terms != nil
        else { return try await fetchUnshared(fetch, next) }
        // A call that ended while it waited in an outer plugin sends nothing.
        try Task.checkCancellation()
        let subscription = await cache.flights.join(key, for: lookup.context.call) {
            let rest = next.detached(for: $0)
            let outcome = await fetch.outcome(for: $0) { await rest.result($0) }
            self.cache.note(lookup.key, isShareable: self.isShareable(outcome, lookup))
            return outcome
        }
        guard let subscription else { return try await fetchUnshared(fetch, next) }
        try Task.checkCancellation()
        if !subscription.outcome.isCancelled {
            if subscription.isFirst { return try await finish(subscription.outcome, fetch, next) }
            // A call never gets an outcome of another user's credential, not even a failure.
            if lookup.unseenCredential(in: subscription.sent) == nil,
                let response = try await serveShared(subscription.outcome, fetch, next)
            {
                return response
            }
        }
        // The shared outcome does not fit this request, or it was cancelled although this call was not.
        return try await finish(await fetch.outcome { await next.result($0) }, fetch, next)
    }

    private func fetchUnshared(_ fetch: CacheFetch, _ next: PluginChain) async throws -> PulseResponse {
        let lookup = fetch.lookup
        let outcome = await fetch.outcome { await next.result($0) }
        if isShareable(outcome, lookup) { cache.note(lookup.key, isShareable: true) }
        if case .received(let response, _) = outcome { return missed(response, lookup) }
        return try await finish(outcome, fetch, next)
    }

    private func missed(_ response: PulseResponse, _ lookup: CacheLookup) -> PulseResponse {
        cache.counters.withLock { $0.misses += 1 }
        lookup.context.emit(.cacheMiss(lookup.context.summary))
        return response
    }

    /// The response from the outcome of the call's own request.
    private func finish(
        _ outcome: CacheOutcome, _ fetch: CacheFetch, _ next: PluginChain
    ) async throws -> PulseResponse {
        let lookup = fetch.lookup
        switch outcome {
        case .received(let response, _):
            return missed(response, lookup)
        case .confirmed(let confirmed, _):
            if let response = try await CacheHit(confirmed, .revalidated, age: nil).response(to: lookup) {
                cache.counters.withLock { $0.revalidations += 1 }
                lookup.context.emit(.cacheRevalidated(lookup.context.summary))
                return response
            }
            await cache.remove(.key(lookup.key), in: lookup.context)
            let refetch = CacheFetch(lookup: lookup, stored: [], conditions: nil, cache: cache)
            return try await finish(await refetch.outcome { await next.result($0) }, refetch, next)
        case .completed(let response):
            cache.counters.withLock { $0.revalidations += 1 }
            lookup.context.emit(.cacheRevalidated(lookup.context.summary))
            return response
        case .fallback(let index, let use, let refused):
            guard let response = try await hit(fetch.stored[index], use, lookup) else { return refused }
            refused.discard()
            return response
        case .failed(let error):
            return try await fallback(for: error, fetch)
        }
    }

    /// The response from the outcome of another call's request; nil if this call must send its own.
    private func serveShared(
        _ outcome: CacheOutcome, _ fetch: CacheFetch, _ next: PluginChain
    ) async throws -> PulseResponse? {
        let lookup = fetch.lookup
        let shared: CachedResponse
        switch outcome {
        case .received(_, let stored?): shared = stored
        case .confirmed(let confirmed, isStored: true): shared = confirmed
        case .failed(let error): return try await fallback(for: error, fetch)
        // The server is failing already, and would respond to each call in the same way.
        case .fallback: return try await ownFallback(fetch, isDisconnected: false)
        case .received, .confirmed, .completed: return nil
        }
        let plan = cache.policy.plan(
            for: lookup.rules, mode: lookup.mode, stored: [shared.head], now: lookup.context.clock.now)
        guard case .serve(_, let use) = plan else { return nil }
        // The response may be stale if this caller allows it. Its origin must then say so.
        guard use.origin != .stale else { return try await hit(shared, use, lookup) }
        let response = try await CacheHit(shared, .coalesced, age: use.age).response(to: lookup)
        guard let response else { return nil }
        cache.counters.withLock { $0.coalesced += 1 }
        lookup.context.emit(.cacheHit(lookup.context.summary))
        return response
    }

    /// A stored response in place of an error, if that is allowed; otherwise throws the error.
    private func fallback(for error: PulseError, _ fetch: CacheFetch) async throws -> PulseResponse {
        if error.meansServerUnavailable,
            let response = try await ownFallback(fetch, isDisconnected: error.meansNoConnection)
        {
            return response
        }
        cache.counters.withLock { $0.misses += 1 }
        fetch.lookup.context.emit(.cacheMiss(fetch.lookup.context.summary))
        throw error
    }

    /// The call's own stored response to serve when the server fails; nil without one.
    private func ownFallback(_ fetch: CacheFetch, isDisconnected: Bool) async throws -> PulseResponse? {
        let (lookup, heads) = (fetch.lookup, fetch.stored.map(\.head))
        guard let index = cache.policy.select(from: heads, for: lookup.rules),
            lookup.rules.canBeServed(by: heads[index]),
            let use = cache.policy.useAfterFailure(
                of: heads[index], lookup.rules, lookup.mode, isDisconnected: isDisconnected,
                now: lookup.context.clock.now)
        else { return nil }
        return try await hit(fetch.stored[index], use, lookup)
    }

    /// Validates a stale response after it was served.
    private func validateInBackground(_ lookup: CacheLookup, _ stored: [CachedResponse], _ next: PluginChain) {
        guard lookup.rules.method != .head else { return }
        let plan = cache.policy.plan(
            for: lookup.rules, mode: .revalidate, stored: stored.map(\.head), now: lookup.context.clock.now)
        guard case .forward(let conditions) = plan else { return }
        let fetch = CacheFetch(
            lookup: lookup, stored: stored, conditions: conditions, cache: cache, isBackground: true)
        // One validation for each entry, whatever the options of the calls.
        let key = lookup.flightKey(isOwn: next.holdsPluginsOfTheEndpoint)
        cache.flights.startInBackground(key, unless: { $0.key == lookup.key }) {
            let rest = next.detached(for: $0)
            return await fetch.outcome(for: $0) { await rest.result($0) }
        }
    }

    private func isShareable(_ outcome: CacheOutcome, _ lookup: CacheLookup) -> Bool {
        let shared: CachedResponse
        switch outcome {
        case .received(_, let stored?): shared = stored
        case .confirmed(let confirmed, isStored: true): shared = confirmed
        case .failed: return true
        case .received, .confirmed, .completed, .fallback: return false
        }
        return CacheFreshness(of: shared.head, by: cache.policy, now: lookup.context.clock.now).isUsableByOthers
    }
}

extension CacheFreshness {
    fileprivate var isUsableByOthers: Bool { isFresh && !control.noCache }
}
