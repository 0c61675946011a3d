// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// Puts answers into the store and takes them out. Nothing is stored that an invalidation has overtaken.
final class HTTPCache: Sendable {
    let policy: CachePolicy
    let storage: any CacheStorage
    /// The storage if it is in memory, which answers without waiting.
    let memory: MemoryCacheStorage?
    let flights = SingleFlight<CacheFlightKey, CacheOutcome>(cancelled: .failed(.cancelled))
    let counters = Locked(CacheStatistics.Counters())
    let commits = PendingStores()
    let parts = KeyedLock()
    private let ledger = Locked(InvalidationLog())

    init(policy: CachePolicy, storage: any CacheStorage) {
        self.policy = policy
        self.storage = storage
        memory = storage as? MemoryCacheStorage
    }

    /// Where in the order of invalidations a request begins. Also notes the sink for events that belong to no call.
    func begin(in context: PluginContext) -> Int {
        let events = context.call.environment.events
        return ledger.withLock { ledger in
            if let events { ledger.note(events) }
            return ledger.sequence
        }
    }

    /// Whether the last answer of that key was of use to nobody else: then it is not worth waiting for the next.
    func isUnshareable(_ key: CacheKey) -> Bool {
        ledger.withLock { $0.isUnshareable(key) }
    }

    func note(_ key: CacheKey, isShareable: Bool) {
        ledger.withLock { $0.note(key, isShareable: isShareable) }
    }

    // MARK: Storing

    /// Stores an answer, if it may be stored.
    ///
    /// - Parameter readsItself: nobody else wants the answer: a streamed body is read here, and only as far as it is
    ///   kept.
    func store(
        _ response: PulseResponse, under head: CachedHead, for exchange: CacheLookup, readsItself: Bool = false
    ) async -> CacheOutcome {
        guard !response.isTruncated, isFit(response, for: exchange) else {
            await remove(.key(exchange.key), in: exchange.context)
            return .answered(response, stored: nil)
        }
        var head = head
        head.tags = exchange.tags
        guard let stream = response.bytes else {
            let kept = CachedResponse(head: head, body: CachedBody(response.data))
            guard head.parts == nil else {
                await keepPart(kept, for: exchange)
                return .answered(response, stored: nil)
            }
            return .answered(response, stored: await keep(kept, for: exchange) ? kept : nil)
        }
        var streamed = response
        // Of a part the head tells how long it is, also if it is everything.
        let count = head.parts?.count ?? (response.statusCode == 206 ? head.contentLength : nil)
        let tee = CacheTee(stream, into: self, under: head, for: exchange, expecting: count)
        streamed.bytes = await tee.stream()
        if readsItself { await tee.readAll(of: streamed.bytes) }
        return .answered(streamed, stored: nil)
    }

    /// Whether others may find it: not if the request as it was sent carries a credential that the cache has not seen.
    func isFit(_ response: PulseResponse, for exchange: CacheLookup) -> Bool {
        // A plugin may have changed the answer, so that it no longer says what was sent.
        let unseen =
            exchange.unseenCredential(in: response.request) ?? exchange.unseenCredential(in: exchange.context.call.sent)
        guard let unseen else { return true }
        if ledger.withLock({ $0.isFirstWarning(about: unseen) }) {
            exchange.context.emit(
                .warning(
                    """
                    answers to requests with the \(unseen) are not cached: a plugin further in sets it, so the \
                    cache cannot tell whose they are; let that plugin stand before the cache
                    """))
        }
        return false
    }

    /// Stores an answer; false if it was not stored, or does not count any more.
    func keep(_ response: CachedResponse, for exchange: CacheLookup) async -> Bool {
        let outcome = await commit(response.head, for: exchange) {
            try await self.storage.store(response, for: exchange.key)
        }
        return outcome == .kept
    }

    /// What became of an answer that was to be stored.
    enum Commit {
        case kept
        case notKept
        /// An answer that was asked for later has its place.
        case overtaken
    }

    /// Stores by `body`, unless an invalidation, or the answer to a later request, came before this answer.
    func commit(_ head: CachedHead, for exchange: CacheLookup, _ body: () async throws -> Bool) async -> Commit {
        let number = commits.begin(exchange.key)
        defer { commits.end(number) }
        guard !isOvertaken(exchange) else { return .notKept }
        guard !hasNewer(head, exchange) else { return .overtaken }
        ledger.withLock { $0.noteStored(head, under: exchange.key) }
        let isStored: Bool
        do {
            isStored = try await body()
            ledger.withLock { $0.hasWarnedOfFailure = false }
        } catch {
            warn(of: error, exchange.context)
            // What it was to replace is past in any case.
            _ = try? await storage.remove(.key(exchange.key))
            return .notKept
        }
        // An invalidation that came while the store wrote waits for this to end, and removes it then.
        guard isStored, !isOvertaken(exchange) else { return .notKept }
        guard !hasNewer(head, exchange) else {
            // Nobody can tell which of the two was written last.
            _ = try? await storage.remove(.key(exchange.key))
            return .overtaken
        }
        counters.withLock { $0.stores += 1 }
        exchange.context.emit(.cacheStored(exchange.context.summary))
        return .kept
    }

    private func isOvertaken(_ exchange: CacheLookup) -> Bool {
        ledger.withLock { $0.isOvertaken(exchange.key.url, since: exchange.sequence) }
    }

    private func hasNewer(_ head: CachedHead, _ exchange: CacheLookup) -> Bool {
        ledger.withLock { $0.hasNewer(head, under: exchange.key, since: exchange.sequence) }
    }

    /// Updates a stored answer that the server has confirmed.
    func confirm(
        _ stored: CachedResponse, _ head: CachedHead, keeps: Bool, for exchange: CacheLookup,
        by response: PulseResponse
    ) async -> CacheOutcome {
        var confirmed = stored
        confirmed.head = head
        confirmed.head.tags.formUnion(exchange.tags)
        guard keeps, isFit(response, for: exchange) else {
            await remove(.key(exchange.key), in: exchange.context)
            return .confirmed(confirmed, isKept: false)
        }
        return .confirmed(confirmed, isKept: await keep(confirmed, for: exchange))
    }

    // MARK: Removing

    /// Removes what is selected. Answers that are under way are not stored either.
    func invalidate(_ selection: CacheSelection, _ url: URL? = nil) async throws {
        ledger.withLock { $0.invalidate(selection) }
        flights.close { selection.mayConcern($0.key) }
        await commits.wait { selection.mayConcern($0) }
        let count = try await storage.remove(selection)
        guard count > 0 else { return }
        counters.withLock { $0.invalidations += count }
        let sink = ledger.withLock { $0.events }
        if let url, let sink, sink.isActive { sink.emit(.cacheInvalidated(url: CacheURL.told(url))) }
    }

    /// The same where a failure cannot be thrown: a warning tells it, to the client that used the cache last.
    func forget(_ selection: CacheSelection, _ url: URL? = nil) async {
        do {
            try await invalidate(selection, url)
        } catch {
            let sink = ledger.withLock { $0.events }
            guard let sink, sink.isActive else { return }
            sink.emit(.warning("the cache cannot forget what it was told to: \(PulseError(wrapping: error))"))
        }
    }

    func remove(_ selection: CacheSelection, in context: PluginContext) async {
        do {
            _ = try await storage.remove(selection)
        } catch {
            warn(of: error, context)
        }
    }

    /// Warns once until the store works again.
    func warn(of error: any Error, _ context: PluginContext) {
        let isFirst = ledger.withLock { ledger in
            defer { ledger.hasWarnedOfFailure = true }
            return !ledger.hasWarnedOfFailure
        }
        if isFirst { context.emit(.warning("the cache's store fails: \(PulseError(wrapping: error))")) }
    }
}

extension CachedHead {
    var contentLength: Int? { headers["Content-Length"].flatMap { Int($0) } }
}
