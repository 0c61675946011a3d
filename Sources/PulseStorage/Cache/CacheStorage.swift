// SPDX-License-Identifier: MIT

/// A store for cached responses. The cache decides what is stored and for how long. A store only finds, replaces and
/// removes entries, and evicts entries for lack of space. A partial response is an entry like any other: its
/// ``CachedResponse/Head/parts`` list the ranges in its body.
///
/// Every method may be called from any thread and concurrently. Calls wait for a method to return, even when they are
/// cancelled, so a method must not block on anything but its own short work.
public protocol CacheStorage: Sendable {
    /// The responses under a key, which differ in their ``CachedResponse/Head/selectingFields``. Empty if there are
    /// none, or if they cannot be read.
    func responses(for key: CacheKey) async -> [CachedResponse]

    /// Stores a response in place of the one with the same selecting fields. Returns false if it is too large; the
    /// response that it would replace is then removed. Throws if it could not be written: the store is then unchanged,
    /// or without that entry.
    ///
    /// - Parameter response: its body may come from this store, or be assembled from such bodies, under another head.
    func store(_ response: CachedResponse, for key: CacheKey) async throws -> Bool

    /// A writer that receives a body chunk by chunk. The response cannot be found before
    /// ``CachedResponse/Writer/commit(_:)``.
    func writer(for key: CacheKey) async throws -> any CachedResponse.Writer

    /// Removes the selected responses, and returns their number. Throws if some of them may remain.
    func remove(_ selection: CacheKey.Selection) async throws -> Int

    /// The space that the store uses now.
    func usage() async -> CacheUsage
}

/// The space that a store uses.
public struct CacheUsage: Sendable, Hashable {
    /// The number of responses; several under one key count each.
    public let entries: Int
    /// The bytes of bodies, heads and the index.
    public let bytes: Int

    /// Creates a usage, for a custom store.
    public init(entries: Int, bytes: Int) {
        self.entries = entries
        self.bytes = bytes
    }
}
