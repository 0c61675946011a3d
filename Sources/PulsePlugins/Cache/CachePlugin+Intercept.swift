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
        guard let lookup else { return try await pass(request, context, next) }
        let stored =
            if let memory = cache.memory { memory.responsesAtOnce(for: lookup.key) } else {
                await cache.storage.responses(for: lookup.key)
            }
        // The read of a cancelled call may have ended early and found nothing.
        if cache.memory == nil { try Task.checkCancellation() }
        let strategy = lookup.strategy(for: stored)
        switch strategy {
        case .use(let index, let use), .useAndRevalidate(let index, let use):
            guard let response = try await hit(stored[index], use, lookup) else {
                return try await fetchAfterDamage(lookup, next)
            }
            if case .useAndRevalidate = strategy { validateInBackground(lookup, stored, next) }
            return response
        case .validate, .fetch:
            return try await fetch(CacheFetch(lookup, stored, strategy.conditions, in: cache), next)
        case .fail(let refusal):
            return try refuse(lookup, by: refusal)
        }
    }

    package var hooks: PluginHooks { .willSend }

    public func willSend(_ request: URLRequest, for context: PluginContext) async {
        // The response of the last attempt is stored. Its age counts from the start of that attempt.
        let now = context.clock.now
        context.store[SendTime.self]?.withLock { $0.note(attempt: context.attempt, at: now) }
    }

    /// Forwards a request that the cache does not serve, and invalidates the entries that it changes.
    private func pass(
        _ request: URLRequest, _ context: PluginContext, _ next: PluginChain
    ) async throws -> PulseResponse {
        let (result, changed) = await next.outcome(ofChange: request, in: context.call)
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
        guard let response = try await lookup.response(from: stored, use.origin, age: use.age) else { return nil }
        count(NetworkEvent.cacheHit, lookup) { if use.origin == .stale { $0.staleHits += 1 } else { $0.hits += 1 } }
        return response
    }

    /// Removes an entry that cannot be read, and sends the request to the server if the call allows it.
    private func fetchAfterDamage(_ lookup: CacheLookup, _ next: PluginChain) async throws -> PulseResponse {
        await cache.remove(.key(lookup.key), in: lookup.context)
        if case .fail(let refusal) = lookup.strategy(for: []) { return try refuse(lookup, by: refusal) }
        return try await fetch(CacheFetch(lookup, [], nil, in: cache), next)
    }

    /// The outcome of a call that accepts only stored responses and misses.
    private func refuse(_ lookup: CacheLookup, by refusal: CacheStrategy.Refusal) throws -> PulseResponse {
        count(NetworkEvent.cacheMiss, lookup) { $0.misses += 1 }
        guard refusal == .gatewayTimeout else { throw PulseError.cacheMiss }
        return PulseResponse(statusCode: 504, request: lookup.request, origin: .cache)
    }

    private func count(
        _ event: (NetworkEvent.CallSummary) -> NetworkEvent, _ lookup: CacheLookup,
        _ add: (inout Statistics.Counters) -> Void
    ) {
        cache.counters.withLock(add)
        lookup.context.emit(event(lookup.context.summary))
    }

    // MARK: From the server

    private func fetch(_ fetch: CacheFetch, _ next: PluginChain) async throws -> PulseResponse {
        let lookup = fetch.lookup
        guard let flight = try await flight(of: fetch, next) else {
            let outcome = await fetch.outcome { await next.result($0) }
            if fetch.isShareable(outcome) { cache.note(lookup.key, isShareable: true) }
            return try await finish(outcome, fetch, next)
        }
        try Task.checkCancellation()
        if !flight.outcome.isCancelled {
            if flight.isFirst { return try await finish(flight.outcome, fetch, next) }
            // A call never gets the outcome of another user's credential, not even a failure.
            if lookup.unseenCredential(in: flight.sent) == nil,
                let response = try await serveShared(flight.outcome, fetch)
            {
                return response
            }
        }
        // The shared outcome does not fit this request, or it was cancelled although this call was not.
        return try await finish(await fetch.outcome { await next.result($0) }, fetch, next)
    }

    /// The finished request that this call shares with others; nil if it must send its own.
    private func flight(of fetch: CacheFetch, _ next: PluginChain) async throws -> CacheStore.Flights.Subscription? {
        let lookup = fetch.lookup
        let key = { self.cache.isUnshareable(lookup.key) ? nil : lookup.sharedFlightKey }
        return try await cache.flights.join(key(), for: lookup.context, running: next) { waiting, rest in
            let outcome = await fetch.outcome(for: waiting) { await rest.result($0) }
            self.cache.note(lookup.key, isShareable: fetch.isShareable(outcome))
            return outcome
        }
    }

    /// The response from the outcome of the call's own request.
    private func finish(
        _ outcome: FetchOutcome, _ fetch: CacheFetch, _ next: PluginChain
    ) async throws -> PulseResponse {
        let lookup = fetch.lookup
        switch outcome {
        case .received(let response, _):
            count(NetworkEvent.cacheMiss, lookup) { $0.misses += 1 }
            return response
        case .confirmed(let confirmed, _):
            guard let response = try await lookup.response(from: confirmed, .revalidated, age: nil) else {
                await cache.remove(.key(lookup.key), in: lookup.context)
                let refetch = CacheFetch(lookup, [], nil, in: cache)
                return try await finish(await refetch.outcome { await next.result($0) }, refetch, next)
            }
            count(NetworkEvent.cacheRevalidated, lookup) { $0.revalidations += 1 }
            return response
        case .completed(let response):
            count(NetworkEvent.cacheRevalidated, lookup) { $0.revalidations += 1 }
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
    private func serveShared(_ outcome: FetchOutcome, _ fetch: CacheFetch) async throws -> PulseResponse? {
        let lookup = fetch.lookup
        switch outcome {
        case .failed(let error): return try await fallback(for: error, fetch)
        // The server is already failing, and would respond to each call in the same way.
        case .fallback: return try await ownFallback(fetch, isDisconnected: false)
        case .received, .confirmed, .completed: break
        }
        guard let shared = outcome.shared, let use = lookup.strategy(for: [shared]).use else { return nil }
        // The response may be stale if this caller allows it. Its origin must then say so.
        guard use.origin != .stale else { return try await hit(shared, use, lookup) }
        guard let response = try await lookup.response(from: shared, .coalesced, age: use.age) else { return nil }
        count(NetworkEvent.cacheHit, lookup) { $0.coalesced += 1 }
        return response
    }

    /// A stored response in place of an error, if that is allowed; otherwise throws the error.
    private func fallback(for error: PulseError, _ fetch: CacheFetch) async throws -> PulseResponse {
        if error.meansServerUnavailable,
            let response = try await ownFallback(fetch, isDisconnected: error.meansNoConnection)
        {
            return response
        }
        count(NetworkEvent.cacheMiss, fetch.lookup) { $0.misses += 1 }
        throw error
    }

    /// The call's own stored response to serve when the server fails; nil without one.
    private func ownFallback(_ fetch: CacheFetch, isDisconnected: Bool) async throws -> PulseResponse? {
        guard let (index, use) = fetch.lookup.useAfterFailure(for: fetch.stored, isDisconnected: isDisconnected)
        else { return nil }
        return try await hit(fetch.stored[index], use, fetch.lookup)
    }

    /// Validates a stale response after it was served.
    private func validateInBackground(_ lookup: CacheLookup, _ stored: [CachedResponse], _ next: PluginChain) {
        guard lookup.rules.method != .head else { return }
        let strategy = lookup.strategy(for: stored, mode: .revalidate)
        switch strategy {
        case .validate, .fetch: break
        case .use, .useAndRevalidate, .fail: return
        }
        let fetch = CacheFetch(lookup, stored, strategy.conditions, in: cache, isBackground: true)
        // One validation for each entry, whatever the options of the calls.
        let key = lookup.flightKey(isOwn: next.holdsPluginsOfTheEndpoint)
        cache.flights.startInBackground(key, unless: { $0.key == lookup.key }, running: next) { waiting, rest in
            await fetch.outcome(for: waiting) { await rest.result($0) }
        }
    }
}
