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
    let pendingStores = PendingStores()
    let parts = KeyedLock()
    private let log = Locked(InvalidationLog())

    init(policy: CachePolicy, storage: any CacheStorage) {
        self.policy = policy
        self.storage = storage
        memory = storage as? MemoryCacheStorage
    }

    /// Where in the order of invalidations a request begins. Also notes the sink for events that belong to no call.
    func begin(in context: PluginContext) -> Int {
        let events = context.call.environment.events
        return log.withLock { log in
            if let events { log.note(events) }
            return log.sequence
        }
    }

    /// Whether the last answer of that key was of use to nobody else: then it is not worth waiting for the next.
    func isUnshareable(_ key: CacheKey) -> Bool {
        log.withLock { $0.isUnshareable(key) }
    }

    func note(_ key: CacheKey, isShareable: Bool) {
        log.withLock { $0.note(key, isShareable: isShareable) }
    }

    // MARK: Storing

    /// Stores an answer, if it may be stored.
    ///
    /// - Parameter readsItself: nobody else wants the answer: a streamed body is read here, and only as far as it is
    ///   kept.
    func store(
        _ response: PulseResponse, under head: CachedHead, for lookup: CacheLookup, readsItself: Bool = false
    ) async -> CacheOutcome {
        guard !response.isTruncated, isFit(response, for: lookup) else {
            await remove(.key(lookup.key), in: lookup.context)
            return .received(response, stored: nil)
        }
        var head = head
        head.tags = lookup.tags
        guard let stream = response.bytes else {
            let kept = CachedResponse(head: head, body: CachedBody(response.data))
            guard head.parts == nil else {
                await storePart(kept, for: lookup)
                return .received(response, stored: nil)
            }
            return .received(response, stored: await store(kept, for: lookup) ? kept : nil)
        }
        var streamed = response
        // Of a part the head tells how long it is, also if it is everything.
        let count = head.parts?.count ?? (response.statusCode == 206 ? head.contentLength : nil)
        let tee = CacheTee(stream, into: self, under: head, for: lookup, expecting: count)
        streamed.bytes = await tee.stream()
        if readsItself { await tee.readAll(of: streamed.bytes) }
        return .received(streamed, stored: nil)
    }

    /// Whether others may find it: not if the request as it was sent carries a credential that the cache has not seen.
    func isFit(_ response: PulseResponse, for lookup: CacheLookup) -> Bool {
        // A plugin may have changed the answer, so that it no longer says what was sent.
        let unseen =
            lookup.unseenCredential(in: response.request) ?? lookup.unseenCredential(in: lookup.context.call.sent)
        guard let unseen else { return true }
        if log.withLock({ $0.isFirstWarning(about: unseen) }) {
            lookup.context.emit(
                .warning(
                    """
                    responses to requests with the \(unseen) are not cached: a plugin further in sets it, so the \
                    cache cannot tell whose they are; let that plugin stand before the cache
                    """))
        }
        return false
    }

    /// Stores an answer; false if it was not stored, or does not count any more.
    func store(_ response: CachedResponse, for lookup: CacheLookup) async -> Bool {
        let outcome = await commit(response.head, for: lookup) {
            try await self.storage.store(response, for: lookup.key)
        }
        return outcome == .stored
    }

    /// What became of an answer that was to be stored.
    enum CommitResult {
        case stored
        case notStored
        /// An answer that was asked for later has its place.
        case overtaken
    }

    /// Stores by `body`, unless an invalidation, or the answer to a later request, came before this answer.
    func commit(_ head: CachedHead, for lookup: CacheLookup, _ body: () async throws -> Bool) async -> CommitResult {
        let number = pendingStores.begin(lookup.key)
        defer { pendingStores.end(number) }
        guard !isOvertaken(lookup) else { return .notStored }
        guard !hasNewer(head, lookup) else { return .overtaken }
        log.withLock { $0.noteStored(head, under: lookup.key) }
        let isStored: Bool
        do {
            isStored = try await body()
            log.withLock { $0.hasWarnedOfFailure = false }
        } catch {
            warn(of: error, lookup.context)
            // What it was to replace is past in any case.
            _ = try? await storage.remove(.key(lookup.key))
            return .notStored
        }
        // An invalidation that came while the store wrote waits for this to end, and removes it then.
        guard isStored, !isOvertaken(lookup) else { return .notStored }
        guard !hasNewer(head, lookup) else {
            // Nobody can tell which of the two was written last.
            _ = try? await storage.remove(.key(lookup.key))
            return .overtaken
        }
        counters.withLock { $0.stores += 1 }
        lookup.context.emit(.cacheStored(lookup.context.summary))
        return .stored
    }

    private func isOvertaken(_ lookup: CacheLookup) -> Bool {
        log.withLock { $0.isOvertaken(lookup.key.url, since: lookup.sequence) }
    }

    private func hasNewer(_ head: CachedHead, _ lookup: CacheLookup) -> Bool {
        log.withLock { $0.hasNewer(head, under: lookup.key, since: lookup.sequence) }
    }

    /// Updates a stored answer that the server has confirmed.
    func confirm(
        _ stored: CachedResponse, _ head: CachedHead, mayStore: Bool, for lookup: CacheLookup,
        by response: PulseResponse
    ) async -> CacheOutcome {
        var confirmed = stored
        confirmed.head = head
        confirmed.head.tags.formUnion(lookup.tags)
        guard mayStore, isFit(response, for: lookup) else {
            await remove(.key(lookup.key), in: lookup.context)
            return .confirmed(confirmed, isStored: false)
        }
        return .confirmed(confirmed, isStored: await store(confirmed, for: lookup))
    }

    // MARK: Removing

    /// Removes what is selected. Answers that are under way are not stored either.
    func invalidate(_ selection: CacheSelection, _ url: URL? = nil) async throws {
        log.withLock { $0.invalidate(selection) }
        flights.close { selection.mayConcern($0.key) }
        await pendingStores.wait { selection.mayConcern($0) }
        let count = try await storage.remove(selection)
        guard count > 0 else { return }
        counters.withLock { $0.invalidations += count }
        let sink = log.withLock { $0.events }
        if let url, let sink, sink.isActive { sink.emit(.cacheInvalidated(url: CacheURL.redacted(url))) }
    }

    /// The same where a failure cannot be thrown: a warning tells it, to the client that used the cache last.
    func invalidateOrWarn(_ selection: CacheSelection, _ url: URL? = nil) async {
        do {
            try await invalidate(selection, url)
        } catch {
            let sink = log.withLock { $0.events }
            guard let sink, sink.isActive else { return }
            sink.emit(.warning("the cache could not invalidate its entries: \(PulseError(wrapping: error))"))
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
        let isFirst = log.withLock { log in
            defer { log.hasWarnedOfFailure = true }
            return !log.hasWarnedOfFailure
        }
        if isFirst { context.emit(.warning("the cache's store fails: \(PulseError(wrapping: error))")) }
    }
}

extension CachedHead {
    var contentLength: Int? { headers["Content-Length"].flatMap { Int($0) } }
}
