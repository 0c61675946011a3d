// SPDX-License-Identifier: MIT

public import PulseCore
public import PulseStorage

/// Keeps answers and uses them for later calls, as far as servers allow.
///
/// It stands once around all attempts of a call, and belongs behind the plugin that authenticates: so answers are kept
/// apart by account (`TokenProvider.accountID`), else by the credentials that the request carries. A hit touches no
/// plugin further in. Several clients may share a cache, and every method may be called from any thread.
///
/// Calls that miss the same answer at the same time wait for one request. A call's options may override the rules, see
/// ``RequestOptions/Cache``. Where the rules speak of the request, they mean its header fields, such as `Cache-Control:
/// no-store`.
public final class CachePlugin: PulsePlugin {
    let cache: HTTPCache

    public var identifier: String { "com.pulse.cache" }
    public var scope: PluginScope { .call }

    /// Keeps answers of status 200 to GET in memory, fresh for `ttl` seconds whatever the server says, except
    /// `no-store`.
    ///
    /// - Parameter ttl: seconds, 300 by default; zero or less keeps nothing fresh.
    /// - Parameter maxMemoryItems: answers at most, 200 by default; the least recently used go first. All together take
    ///   32 MiB at most.
    public convenience init(ttl: TimeInterval = 300, maxMemoryItems: Int = 200) {
        self.init(policy: .timeToLive(ttl), storage: MemoryCacheStorage(maximumEntries: maxMemoryItems))
    }

    /// Keeps answers as the policy says.
    ///
    /// - Parameter storage: where answers are kept, in memory by default. It belongs to this plugin: two that share one
    ///   would not see each other's invalidations in time.
    public init(policy: CachePolicy, storage: any CacheStorage = MemoryCacheStorage()) {
        cache = HTTPCache(policy: policy, storage: storage)
    }

    /// Ends the requests that the cache itself has under way. Those that calls still wait for, perhaps another
    /// client's, go on. The plugin stays usable.
    public func shutdown() async {
        await cache.flights.shutdown()
    }

    // MARK: Invalidation

    /// Forgets every answer for a URL, of all users. The URL's fragment does not count.
    ///
    /// An answer to a request that is under way is not stored either; the same holds for the other ways to forget. If
    /// the store cannot be written, what is left in it may be served until it can; a ``NetworkEvent/warning(_:)`` says
    /// so.
    public func invalidate(url: URL) async {
        await cache.invalidateOrWarn(.url(CacheURL.normalized(url)), url)
    }

    /// Forgets every answer for a URL with that beginning: `https://api.example.com/users/`.
    public func invalidate(prefix: URL) async {
        await cache.invalidateOrWarn(.prefix(CacheURL.normalized(prefix)), prefix)
    }

    /// Forgets every answer that a call with that ``RequestOptions/tag`` has fetched, or had the server confirm. A call
    /// that was served from the store leaves its tag nowhere.
    public func invalidate(tag: String) async {
        await cache.invalidateOrWarn(.tag(tag))
    }

    /// Forgets every answer for an account, as `TokenProvider.accountID` names it: at logout.
    public func clearAll(account: String) async {
        await cache.invalidateOrWarn(.partition(CachePartition.name(account: account)))
    }

    /// Forgets every answer.
    public func clearAll() async {
        await cache.invalidateOrWarn(.all)
    }

    /// What the cache has done since it was made, and what its store holds now.
    public var statistics: CacheStatistics {
        get async {
            let usage = await cache.storage.usage()
            let counters = cache.counters.withLock { $0 }
            return CacheStatistics(
                hits: counters.hits, staleHits: counters.staleHits, coalesced: counters.coalesced,
                misses: counters.misses, revalidations: counters.revalidations, stores: counters.stores,
                invalidations: counters.invalidations, entries: usage.entries, bytes: usage.bytes)
        }
    }
}

extension CachePlugin: EndsWithItsCall, TellsItsHooks {
    /// False for a foreign store: it may wait for anything, and only its task's cancellation ends that.
    package var endsWithItsCall: Bool {
        (cache.storage as? any EndsWithItsCall)?.endsWithItsCall == true
    }
}

extension PulsePlugin where Self == CachePlugin {
    /// A ``CachePlugin`` that keeps answers for a fixed time: ``CachePlugin/init(ttl:maxMemoryItems:)``.
    public static func cache(ttl: TimeInterval = 300, maxMemoryItems: Int = 200) -> CachePlugin {
        CachePlugin(ttl: ttl, maxMemoryItems: maxMemoryItems)
    }

    /// A ``CachePlugin`` with the rules of a policy: ``CachePlugin/init(policy:storage:)``.
    public static func cache(policy: CachePolicy, storage: any CacheStorage = MemoryCacheStorage()) -> CachePlugin {
        CachePlugin(policy: policy, storage: storage)
    }
}
