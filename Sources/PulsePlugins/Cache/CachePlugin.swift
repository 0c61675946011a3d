// SPDX-License-Identifier: MIT

public import PulseCore
public import PulseStorage

/// Stores responses and serves them to later calls, as far as servers allow.
///
/// ```swift
/// let cache = CachePlugin(policy: .rfc9111, storage: .disk(directory: DiskCacheStorage.defaultDirectory()))
/// let client = PulseClient(configuration: configuration, plugins: [cache])
/// await cache.clearAll(account: "ada")
/// ```
///
/// It runs once around all attempts of a call. Put it after the plugin that authenticates: responses are then stored
/// separately for each account (`TokenProvider.accountID`), or for the credentials of the request. A hit runs no inner
/// plugin. Several clients may share a cache, and every method may be called from any thread.
///
/// Concurrent calls that miss the same response share one request. A call's options may override the rules, see
/// ``RequestOptions/Cache``. Rules about the request refer to its header fields, such as `Cache-Control: no-store`.
public final class CachePlugin: PulsePlugin {
    let cache: CacheStore

    public var identifier: String { "com.pulse.cache" }
    public var scope: PluginScope { .call }

    /// Stores responses of status 200 to GET in memory, fresh for `ttl` seconds whatever the server says, except
    /// `no-store`.
    ///
    /// - Parameter ttl: seconds, 300 by default; with zero or less, nothing is fresh.
    /// - Parameter maxMemoryItems: the maximum number of responses, 200 by default; the least recently used are evicted
    ///   first. They take at most 32 MiB in total.
    public convenience init(ttl: TimeInterval = 300, maxMemoryItems: Int = 200) {
        self.init(policy: .timeToLive(ttl), storage: MemoryCacheStorage(maxEntries: maxMemoryItems))
    }

    /// Stores responses by the rules of the policy.
    ///
    /// - Parameter storage: where responses are stored, in memory by default. It belongs to this plugin: two plugins
    ///   that share a storage would not see each other's invalidations in time.
    public init(policy: CachePolicy, storage: any CacheStorage = MemoryCacheStorage()) {
        cache = CacheStore(policy: policy, storage: storage)
    }

    /// Cancels the requests that no call waits for, such as background validations. Requests that calls still wait for
    /// continue; those calls may belong to another client. The plugin stays usable.
    public func shutdown() async {
        await cache.flights.shutdown()
    }

    // MARK: Invalidation

    /// Removes every response for a URL, for all users. The URL's fragment is ignored.
    ///
    /// The response to a request in flight is not stored either. The same holds for the other ways to remove responses.
    /// If the store cannot be written, remaining entries may be served until it can; a ``NetworkEvent/warning(_:)``
    /// reports that.
    public func invalidate(url: URL) async {
        await cache.invalidateOrWarn(.url(CacheURL.normalized(url)), url)
    }

    /// Removes every response whose URL has this prefix, such as `https://api.example.com/users/`.
    public func invalidate(prefix: URL) async {
        await cache.invalidateOrWarn(.prefix(CacheURL.normalized(prefix)), prefix)
    }

    /// Removes every response that a call with this ``RequestOptions/tag`` has fetched or validated. A call that was
    /// served from the store adds its tag to no entry.
    public func invalidate(tag: String) async {
        await cache.invalidateOrWarn(.tag(tag))
    }

    /// Removes every response for an account, as named by `TokenProvider.accountID`: for example at logout.
    public func clearAll(account: String) async {
        await cache.invalidateOrWarn(.partition(CachePartition.name(account: account)))
    }

    /// Removes every response.
    public func clearAll() async {
        await cache.invalidateOrWarn(.all)
    }

    /// Counters since the cache was created, and the current size of its store.
    public var statistics: Statistics {
        get async {
            let usage = await cache.storage.usage()
            let counters = cache.counters.withLock { $0 }
            return Statistics(
                hits: counters.hits, staleHits: counters.staleHits, coalesced: counters.coalesced,
                misses: counters.misses, revalidations: counters.revalidations, stores: counters.stores,
                invalidations: counters.invalidations, entries: usage.entries, bytes: usage.bytes)
        }
    }
}

extension CachePlugin: HookDeclaring {}

extension PulsePlugin where Self == CachePlugin {
    /// A ``CachePlugin`` that stores responses for a fixed time: ``CachePlugin/init(ttl:maxMemoryItems:)``.
    public static func cache(ttl: TimeInterval = 300, maxMemoryItems: Int = 200) -> CachePlugin {
        CachePlugin(ttl: ttl, maxMemoryItems: maxMemoryItems)
    }

    /// A ``CachePlugin`` with the rules of a policy: ``CachePlugin/init(policy:storage:)``.
    public static func cache(policy: CachePolicy, storage: any CacheStorage = MemoryCacheStorage()) -> CachePlugin {
        CachePlugin(policy: policy, storage: storage)
    }
}
