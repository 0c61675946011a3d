// SPDX-License-Identifier: MIT

public import PulseCore

/// A place where a cache keeps answers. What is kept and for how long is decided by others: a store only finds,
/// replaces and, for want of room, forgets. A partial response is an entry like any other: its ``CachedHead/parts``
/// tell which bytes its body has.
///
/// Every method may be called from any thread and concurrently. Calls wait for them to end, cancelled ones too, so a
/// method must wait for nothing but its own short work.
public protocol CacheStorage: Sendable {
    /// The answers under a key, which differ in their ``CachedHead/selectingFields``. Empty if there are none, or if
    /// they cannot be read.
    func responses(for key: CacheKey) async -> [CachedResponse]

    /// Keeps an answer in place of the one with the same selecting fields. Returns false if it is too large to be kept;
    /// the one in its place is gone then too. Throws if it could not be written; the store is then as it was, or
    /// without that entry.
    ///
    /// - Parameter response: its body may be one that this store gave, or made of such, under another head.
    func store(_ response: CachedResponse, for key: CacheKey) async throws -> Bool

    /// A writer that takes a body piece by piece. Nothing can be found before ``CacheWriter/commit(_:)``.
    func writer(for key: CacheKey) async throws -> any CacheWriter

    /// Forgets what is selected, and returns the number of answers. Throws if some of them may be left.
    func remove(_ selection: CacheSelection) async throws -> Int

    /// How much is kept at the moment.
    func usage() async -> CacheUsage
}

/// A writer of one body on its way into a store, for one task at a time. If it is dropped without a commit, nothing is
/// kept.
public protocol CacheWriter: Sendable {
    /// Appends bytes. Returns false if the body is too large to be kept: the rest need not be written then.
    func write(_ chunk: Data) async throws -> Bool

    /// Completes the answer with its head. Returns and throws as ``CacheStorage/store(_:for:)`` does.
    func commit(_ head: CachedHead) async throws -> Bool

    /// Drops what was written. May be called at any time, on any thread.
    func discard()
}

/// The room that a store takes up.
public struct CacheUsage: Sendable, Hashable {
    /// The number of answers; several under one key count each.
    public let entries: Int
    /// The bytes of bodies, of heads and of what it takes to find them.
    public let bytes: Int

    /// Makes a usage of these counts.
    public init(entries: Int, bytes: Int) {
        self.entries = entries
        self.bytes = bytes
    }
}
