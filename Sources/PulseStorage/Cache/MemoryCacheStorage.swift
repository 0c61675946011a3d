// SPDX-License-Identifier: MIT

import PulseCore

/// A cache store in memory, bounded in bytes and entries. It evicts the least recently used responses first.
///
/// ```swift
/// let storage = MemoryCacheStorage(maxBytes: 8 << 20, maxEntries: 500)
/// let client = PulseClient(
///     configuration: configuration, plugins: [.cache(policy: .rfc9111, storage: storage)])
/// ```
///
/// A response that would take more than a quarter of `maxBytes` is not stored: it would evict all others. Nothing
/// outlives the process. Safe from any thread.
public final class MemoryCacheStorage: CacheStorage {
    private let state: Locked<MemoryCacheState>

    /// Creates an empty cache.
    ///
    /// - Parameter maxBytes: 32 MiB by default; a negative number counts as 0.
    /// - Parameter maxEntries: 1,000 by default; a negative number counts as 0.
    public init(maxBytes: Int = 32 << 20, maxEntries: Int = 1_000) {
        state = Locked(MemoryCacheState(maxBytes: max(0, maxBytes), maxEntries: max(0, maxEntries)))
    }

    public func responses(for key: CacheKey) async -> [CachedResponse] {
        responsesAtOnce(for: key)
    }

    package func responsesAtOnce(for key: CacheKey) -> [CachedResponse] {
        state.withLock { $0.responses(for: key) }
    }

    public func store(_ response: CachedResponse, for key: CacheKey) async throws -> Bool {
        let body = try await response.body.data()
        return put(CachedResponse(head: response.head, body: CachedResponse.Body(body)), for: key)
    }

    public func writer(for key: CacheKey) async throws -> any CachedResponse.Writer {
        Writer(limit: state.withLock { $0.maxEntrySize }) { head, body in
            self.put(CachedResponse(head: head, body: CachedResponse.Body(body)), for: key)
        }
    }

    public func remove(_ selection: CacheKey.Selection) async throws -> Int {
        let removed = state.withLock { $0.remove(selection) }
        return removed.count
    }

    public func usage() async -> CacheUsage {
        state.withLock { $0.usage }
    }

    private func put(_ response: CachedResponse, for key: CacheKey) -> Bool {
        // Evicted responses are freed outside the lock.
        let (isStored, evicted) = state.withLock { state in
            let isStored = state.put(response, for: key)
            return (isStored, state.takeEvicted())
        }
        withExtendedLifetime(evicted) {}
        return isStored
    }

    private final class Writer: CachedResponse.Writer {
        private let limit: Int
        private let put: @Sendable (CachedResponse.Head, Data) -> Bool
        private let body = Locked<Data?>(Data())

        init(limit: Int, put: @escaping @Sendable (CachedResponse.Head, Data) -> Bool) {
            self.limit = limit
            self.put = put
        }

        func write(_ chunk: Data) async throws -> Bool {
            body.withLock { body in
                guard let count = body?.count, count + chunk.count <= limit else {
                    body = nil
                    return false
                }
                body?.append(chunk)
                return true
            }
        }

        func commit(_ head: CachedResponse.Head) async throws -> Bool {
            let whole = body.withLock { body in
                defer { body = nil }
                return body
            }
            return whole.map { put(head, $0) } ?? false
        }

        func discard() {
            body.withLock { $0 = nil }
        }
    }
}

extension CacheStorage where Self == MemoryCacheStorage {
    /// A cache in memory, see ``MemoryCacheStorage/init(maxBytes:maxEntries:)``.
    public static func memory(maxBytes: Int = 32 << 20, maxEntries: Int = 1_000) -> MemoryCacheStorage {
        MemoryCacheStorage(maxBytes: maxBytes, maxEntries: maxEntries)
    }
}
