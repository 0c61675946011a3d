// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// Reads and writes the store. A response is not stored if an invalidation came after its request.
final class CacheStore: Sendable {
    typealias Flights = SingleFlight<CacheFlightKey, FetchOutcome>

    let policy: CachePolicy
    let storage: any CacheStorage
    /// The storage if it is in memory, which responds synchronously.
    let memory: MemoryCacheStorage?
    private let disk: DiskCacheStorage?
    let flights = Flights(cancelled: .failed(.cancelled))
    let counters = Locked(CachePlugin.Statistics.Counters())
    /// Held while parts are joined: otherwise one of two concurrent parts would be lost. Never held while a body
    /// arrives.
    let parts = KeyedSemaphore<CacheKey>(limit: 1)
    let log = Locked(StoreLog())

    init(policy: CachePolicy, storage: any CacheStorage) {
        self.policy = policy
        self.storage = storage
        memory = storage as? MemoryCacheStorage
        disk = storage as? DiskCacheStorage
    }

    /// The position of a request in the sequence of invalidations. Also records the sink for events that belong to no
    /// call.
    func begin(in context: PluginContext) -> Int {
        let environment = context.call.environment
        let events = environment.events
        if let warning = disk?.folderWarning { environment.warnOnce(warning) }
        return log.withLock { log in
            if let events { log.note(events) }
            return log.sequence
        }
    }

    /// Whether other calls could not use the last response for this key. Waiting for the next one is then pointless.
    func isUnshareable(_ key: CacheKey) -> Bool {
        log.withLock { $0.isUnshareable(key) }
    }

    func note(_ key: CacheKey, isShareable: Bool) {
        log.withLock { $0.note(key, isShareable: isShareable) }
    }

    // MARK: Storing

    /// Stores a response, if that is allowed.
    ///
    /// - Parameter readsItself: no caller reads the response. A streamed body is read here, and only as far as it is
    ///   stored.
    func store(
        _ response: PulseResponse, under head: CachedResponse.Head, for lookup: CacheLookup, readsItself: Bool = false
    ) async -> FetchOutcome {
        guard !response.isTruncated, isFit(response, for: lookup) else {
            await remove(.key(lookup.key), in: lookup.context)
            return .received(response, stored: nil)
        }
        var head = head
        head.tags = lookup.tags
        let stream: ByteStream
        switch response.body {
        case .buffered(let data):
            let cached = CachedResponse(head: head, body: CachedResponse.Body(data))
            guard head.parts == nil else {
                await storePart(cached, for: lookup)
                return .received(response, stored: nil)
            }
            return .received(response, stored: await store(cached, for: lookup) ? cached : nil)
        case .file, .connection, .failed:
            return .received(response, stored: nil)
        case .stream(let received):
            stream = received
        }
        var response = response
        // The head of a part states its length, even if the part is the whole.
        let count = head.parts?.count ?? (response.statusCode == 206 ? head.contentLength : nil)
        let tee = CacheTee(stream, into: self, under: head, for: lookup, expecting: count)
        let stored = await tee.stream()
        if readsItself { await tee.readAll(of: stored) }
        response.body = .stream(stored)
        return .received(response, stored: nil)
    }

    /// Whether other calls may use the response. False if the sent request carries a credential that the cache has not
    /// seen.
    func isFit(_ response: PulseResponse, for lookup: CacheLookup) -> Bool {
        // A plugin may have replaced the response, so that its request is not the one that was sent.
        let unseen =
            lookup.unseenCredential(in: response.request) ?? lookup.unseenCredential(in: lookup.context.call.sent)
        guard let unseen else { return true }
        if log.withLock({ $0.isFirstWarning(about: unseen) }) {
            lookup.context.emit(
                .warning(
                    """
                    responses to requests with the \(unseen) are not cached: a later plugin sets it, so the cache \
                    cannot tell which user they belong to; put that plugin before the cache
                    """))
        }
        return false
    }

    /// Stores a response; false if it was not stored, or was outdated meanwhile.
    func store(_ response: CachedResponse, for lookup: CacheLookup) async -> Bool {
        let outcome = await commit(response.head, for: lookup) {
            try await self.storage.store(response, for: lookup.key)
        }
        return outcome == .stored
    }

    /// Stores with `body`, unless an invalidation or the response to a later request came first.
    func commit(
        _ head: CachedResponse.Head, for lookup: CacheLookup, _ body: () async throws -> Bool
    ) async -> StoreLog.Result {
        let (number, result) = log.withLock { $0.begin(head, under: lookup.key, since: lookup.sequence) }
        guard let number else { return result }
        defer { log.withLock { $0.end(number) }.forEach { $0.resume() } }
        let isStored: Bool
        do {
            isStored = try await body()
            log.withLock { $0.hasWarnedOfFailure = false }
        } catch {
            warn(of: error, lookup.context)
            // The entry to be replaced is outdated in any case.
            _ = try? await storage.remove(.key(lookup.key))
            return .notStored
        }
        // An invalidation during the write waits for this function to end, and then removes the entry.
        guard isStored else { return .notStored }
        let now = log.withLock { $0.result(for: head, under: lookup.key, since: lookup.sequence) }
        // It is unknown which response was written last.
        if now == .overtaken { _ = try? await storage.remove(.key(lookup.key)) }
        guard now == .stored else { return now }
        counters.withLock { $0.stores += 1 }
        lookup.context.emit(.cacheStored(lookup.context.summary))
        return .stored
    }

    /// Stores a response that the server has confirmed or completed. If that is forbidden, its entry is removed.
    func confirm(
        _ confirmed: CachedResponse, mayStore: Bool, for lookup: CacheLookup, by response: PulseResponse
    ) async -> FetchOutcome {
        guard mayStore, isFit(response, for: lookup) else {
            await remove(.key(lookup.key), in: lookup.context)
            return .confirmed(confirmed, isStored: false)
        }
        var confirmed = confirmed
        confirmed.head.tags.formUnion(lookup.tags)
        return .confirmed(confirmed, isStored: await store(confirmed, for: lookup))
    }

    // MARK: Removing

    /// Removes the selected entries. Responses in flight are not stored either.
    func invalidate(_ selection: CacheKey.Selection, _ url: URL? = nil) async throws {
        log.withLock { $0.invalidate(selection) }
        flights.close { selection.mayConcern($0.key) }
        // Waits even if the caller is cancelled: storing takes a short time.
        await log.suspend { $0.wait($1) { selection.mayConcern($0) } }
        let count = try await storage.remove(selection)
        guard count > 0 else { return }
        counters.withLock { $0.invalidations += count }
        let sink = log.withLock { $0.events }
        if let url, let sink, sink.isActive { sink.emit(.cacheInvalidated(url: CacheURL.redacted(url))) }
    }

    /// Removes the selected entries. A failure becomes a warning to the client that used the cache last.
    func invalidateOrWarn(_ selection: CacheKey.Selection, _ url: URL? = nil) async {
        do {
            try await invalidate(selection, url)
        } catch {
            let sink = log.withLock { $0.events }
            guard let sink, sink.isActive else { return }
            sink.emit(.warning("the cache could not invalidate its entries: \(PulseError(wrapping: error))"))
        }
    }

    func remove(_ selection: CacheKey.Selection, in context: PluginContext) async {
        do {
            _ = try await storage.remove(selection)
        } catch {
            warn(of: error, context)
        }
    }

    /// Warns once, until the store works again.
    func warn(of error: any Error, _ context: PluginContext) {
        let isFirst = log.withLock { log in
            defer { log.hasWarnedOfFailure = true }
            return !log.hasWarnedOfFailure
        }
        if isFirst { context.emit(.warning("the cache's store failed: \(PulseError(wrapping: error))")) }
    }
}

extension CachedResponse.Head {
    var contentLength: Int? { headers["Content-Length"].flatMap { Int($0) } }
}
