// SPDX-License-Identifier: MIT

/// What a cache has done since it was made, and what it keeps.
public struct CacheStatistics: Sendable, Hashable {
    struct Counters: Sendable {
        var hits = 0
        var staleHits = 0
        var coalesced = 0
        var misses = 0
        var revalidations = 0
        var stores = 0
        var invalidations = 0
    }

    /// Calls answered with a fresh stored answer, without the network.
    public let hits: Int
    /// Calls answered with a stored answer past its lifetime.
    public let staleHits: Int
    /// Calls answered with the answer to another call's request that was under way.
    public let coalesced: Int
    /// Calls that needed the server's own answer.
    public let misses: Int
    /// Calls whose stored answer the server confirmed.
    public let revalidations: Int
    /// Answers put into the store, confirmed ones included.
    public let stores: Int
    /// Answers that an invalidation removed.
    public let invalidations: Int
    /// Answers in the store now.
    public let entries: Int
    /// Bytes that the answers in the store take.
    public let bytes: Int

    /// The share, from 0 to 1, of the calls answered from the store or with another call's answer; nil before the
    /// first.
    public var hitRatio: Double? {
        let answered = hits + staleHits + coalesced + revalidations
        return answered + misses == 0 ? nil : Double(answered) / Double(answered + misses)
    }
}
