// SPDX-License-Identifier: MIT

extension CachePlugin {
    /// Counters of a cache since it was created, and the size of its store.
    public struct Statistics: Sendable, Hashable {
        struct Counters: Sendable {
            var hits = 0
            var staleHits = 0
            var coalesced = 0
            var misses = 0
            var revalidations = 0
            var stores = 0
            var invalidations = 0
        }

        /// Calls served with a fresh stored response, without the network.
        public let hits: Int
        /// Calls served with a stored response past its lifetime.
        public let staleHits: Int
        /// Calls served with the response to another call's request in flight.
        public let coalesced: Int
        /// Calls that needed the server's own response.
        public let misses: Int
        /// Calls whose stored response the server confirmed.
        public let revalidations: Int
        /// Responses written to the store, confirmed ones included.
        public let stores: Int
        /// Responses removed by an invalidation.
        public let invalidations: Int
        /// Responses in the store now.
        public let entries: Int
        /// Bytes that the responses in the store take.
        public let bytes: Int

        /// The ratio, from 0 to 1, of calls served from the store or with another call's response; nil before the first
        /// call.
        public var hitRatio: Double? {
            let served = hits + staleHits + coalesced + revalidations
            return served + misses == 0 ? nil : Double(served) / Double(served + misses)
        }
    }
}
