// SPDX-License-Identifier: MIT

public import PulseCore

extension MetricsSnapshot {
    /// Counts of calls and their results: of a route, of a host or of all calls, in a span of time.
    ///
    /// Every call that has ended is in one of ``succeeded``, ``failed``, ``cancelled`` and ``queuedOffline``.
    public struct Calls: Sendable {
        // MARK: Calls

        /// Calls that ended with a decoded response.
        public internal(set) var succeeded = 0
        /// Calls that ended with an error, apart from ``cancelled`` and ``queuedOffline``.
        public internal(set) var failed = 0
        /// Calls ended by their caller, by `cancelAll` or by a shutdown: neither success nor failure.
        public internal(set) var cancelled = 0
        /// Calls put into the offline queue: neither success nor failure yet.
        public internal(set) var queuedOffline = 0

        /// Calls that have ended, with any result.
        public var completed: Int { succeeded + failed + cancelled + queuedOffline }

        /// The share of successes among the calls that succeeded or failed, from 0 to 1; 1 if there were none.
        public var successRate: Double { part(succeeded, of: succeeded + failed, ifNone: 1) }

        /// The failed calls by the kind of their error.
        public var failuresByKind: [PulseError.Kind: Int] { failureTally.dictionary }

        // MARK: Latency

        /// The durations of calls that succeeded or failed, from start to end, including retries, waits and decoding.
        public internal(set) var latency = Histogram()

        /// The median of ``latency``, in seconds; 0 if there was no call.
        public var p50Latency: TimeInterval { latency.quantile(0.5) }
        /// The 90th percentile of ``latency``, in seconds; 0 if there was no call.
        public var p90Latency: TimeInterval { latency.quantile(0.9) }
        /// The 95th percentile of ``latency``, in seconds; 0 if there was no call.
        public var p95Latency: TimeInterval { latency.quantile(0.95) }
        /// The 99th percentile of ``latency``, in seconds; 0 if there was no call.
        public var p99Latency: TimeInterval { latency.quantile(0.99) }
        /// The mean of ``latency``, in seconds; 0 if there was no call.
        public var meanLatency: TimeInterval { latency.mean }

        /// The time by phase, of the exchange that returned the response of each successful call, as far as the
        /// transport measures it.
        public internal(set) var phases = Phases()

        // MARK: On the wire

        /// Requests sent to the network, including redirects, retries and hedges.
        public internal(set) var attempts = 0
        /// Attempts after the first that a retry loop made.
        public internal(set) var retries = 0
        /// Failures that were not retried only because attempts, deadline, budget or server did not allow it.
        public internal(set) var retriesGivenUp = 0
        /// Redirects that were followed.
        public internal(set) var redirects = 0
        /// Calls that a rate limit delayed or rejected, the client's own or the server's.
        public internal(set) var rateLimited = 0
        /// Server responses by status, including those of retried attempts; a status outside 100...599 counts as 0.
        public var statuses: [Int: Int] { statusTally.dictionary }
        /// Bytes of bodies received from the network, after decompression, over all attempts.
        public internal(set) var bytesReceived: Int64 = 0
        /// Bytes of bodies that calls returned, from the network or from the cache.
        public internal(set) var bytesDelivered: Int64 = 0

        // MARK: Cache

        /// Responses from the cache without a request to the server.
        public internal(set) var cacheHits = 0
        /// Calls that looked into the cache and found no usable response.
        public internal(set) var cacheMisses = 0
        /// Responses from the cache that the server validated first.
        public internal(set) var cacheRevalidations = 0

        /// The share of responses that came from the cache's store, including validated ones, from 0 to 1; 0 if no call
        /// used the cache.
        public var cacheHitRatio: Double {
            part(cacheHits + cacheRevalidations, of: cacheHits + cacheMisses + cacheRevalidations, ifNone: 0)
        }

        var failureTally = Tally<PulseError.Kind>()
        var statusTally = Tally<Int>()

        /// Creates counts that are all 0.
        package init() {}

        /// Adds the counts of another, as if its calls had been counted here.
        package mutating func merge(_ other: Calls) {
            succeeded += other.succeeded
            failed += other.failed
            cancelled += other.cancelled
            queuedOffline += other.queuedOffline
            latency.merge(other.latency)
            phases.merge(other.phases)
            attempts += other.attempts
            retries += other.retries
            retriesGivenUp += other.retriesGivenUp
            redirects += other.redirects
            rateLimited += other.rateLimited
            bytesReceived = bytesReceived.addingClamped(other.bytesReceived)
            bytesDelivered = bytesDelivered.addingClamped(other.bytesDelivered)
            cacheHits += other.cacheHits
            cacheMisses += other.cacheMisses
            cacheRevalidations += other.cacheRevalidations
            failureTally.merge(other.failureTally)
            statusTally.merge(other.statusTally)
        }

        /// Whether nothing was counted.
        var isEmpty: Bool {
            completed + attempts + retries + retriesGivenUp + redirects + rateLimited == 0
                && cacheHits + cacheMisses + cacheRevalidations == 0 && statusTally.isEmpty
        }

        private func part(_ some: Int, of all: Int, ifNone: Double) -> Double {
            all == 0 ? ifNone : Double(some) / Double(all)
        }
    }
}

extension Int64 {
    /// Adds a count of a custom transport, which may be any number: a negative one counts as 0.
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflows) = addingReportingOverflow(Swift.max(0, other))
        return overflows ? .max : sum
    }
}
