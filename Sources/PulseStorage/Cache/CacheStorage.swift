// SPDX-License-Identifier: MIT

public import PulseCore

/// Where a cache keeps answers. What is kept and for how long is decided by others: a store only finds, replaces and, for
/// want of room, forgets.
///
/// Every method may be called from any thread and concurrently. Calls wait for them, and a call that is cancelled waits to
/// the end: none may wait for anything but its own short work.
public protocol CacheStorage: Sendable {
    /// The answers under a key, which differ in their ``CachedHead/selectingFields``; none if there are none, or if they
    /// cannot be read.
    func responses(for key: CacheKey) async -> [CachedResponse]

    /// Keeps an answer in the place of that with the same selecting fields. Gives false if it is too large to be kept;
    /// whatever was in its place is gone then too. Throws if it could not be written, which leaves the store as it was
    /// or without that entry.
    ///
    /// - Parameter response: its body may be one that this store gave, under another head.
    func store(_ response: CachedResponse, for key: CacheKey) async throws -> Bool

    /// Takes a body piece by piece. Nothing can be found before ``CacheWriter/commit(_:)``.
    func writer(for key: CacheKey) async throws -> any CacheWriter

    /// Forgets what is selected, and gives how many answers that were. Throws if something may be left of them.
    func remove(_ selection: CacheSelection) async throws -> Int

    /// How much is kept at the moment.
    func usage() async -> CacheUsage
}

/// Takes one body on its way into a store; for one task at a time. One that is dropped without a commit leaves nothing.
public protocol CacheWriter: Sendable {
    /// Appends bytes. Gives false if the body is too large to be kept: it need not be told any more then.
    func write(_ chunk: Data) async throws -> Bool

    /// Makes the answer whole, as ``CacheStorage/store(_:for:)`` does.
    func commit(_ head: CachedHead) async throws -> Bool

    /// Lets go of what was written. May be called at any time, on any thread.
    func discard()
}

/// How much a store keeps.
public struct CacheUsage: Sendable, Hashable {
    /// Answers, each of several under one key counted.
    public let entries: Int
    /// Of bodies, heads and what it takes to find them.
    public let bytes: Int

    public init(entries: Int, bytes: Int) {
        self.entries = entries
        self.bytes = bytes
    }
}
