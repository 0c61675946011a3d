// SPDX-License-Identifier: MIT

public import PulseCore

/// Counts of what became of calls: those of a route, of a host or all, in a span of time.
///
/// Every call that has ended is in one of ``succeeded``, ``failed``, ``cancelled`` and ``queuedOffline``.
public struct CallMetrics: Sendable {
    // MARK: Calls

    /// Calls that ended with a decoded answer.
    public internal(set) var succeeded = 0
    /// Calls that ended with an error, apart from ``cancelled`` and ``queuedOffline``.
    public internal(set) var failed = 0
    /// Calls ended by their caller, by `cancelAll` or by a shutdown: neither success nor failure.
    public internal(set) var cancelled = 0
    /// Calls put into the offline queue: neither success nor failure yet.
    public internal(set) var queuedOffline = 0

    /// Calls that have ended, however they did.
    public var completed: Int { succeeded + failed + cancelled + queuedOffline }

    /// The share of successes among the calls that succeeded or failed, from 0 to 1; 1 if there was none.
    public var successRate: Double { part(succeeded, of: succeeded + failed, ifNone: 1) }

    /// The failed calls by the kind of their error.
    public var failuresByKind: [PulseError.Kind: Int] { failureTally.dictionary }

    // MARK: Latency

    /// The durations of calls that succeeded or failed, from start to end: retries, waits and decoding included.
    public internal(set) var latency = LatencyHistogram()

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

    /// Where the time went in the exchange that gave each successful call its answer, as far as the transport measures.
    public internal(set) var phases = PhaseTotals()

    // MARK: On the wire

    /// Requests that went to the wire, redirects, retries and hedges included.
    public internal(set) var attempts = 0
    /// Attempts after the first that a retry loop made.
    public internal(set) var retries = 0
    /// Failures that would have been retried, had attempts, deadline, budget or server allowed it.
    public internal(set) var retriesGivenUp = 0
    /// Redirects that were followed.
    public internal(set) var redirects = 0
    /// Calls that a limit held back, the client's own or the server's.
    public internal(set) var rateLimited = 0
    /// Answers of servers by status, those of retried attempts included; a status outside 100...599 counts as 0.
    public var statuses: [Int: Int] { statusTally.dictionary }
    /// Bytes of bodies that came over the wire, after decompression, of every attempt.
    public internal(set) var bytesReceived: Int64 = 0
    /// Bytes of bodies that calls ended with, from the network or from the cache.
    public internal(set) var bytesDelivered: Int64 = 0

    // MARK: Cache

    /// Answers from the cache without a request to the server.
    public internal(set) var cacheHits = 0
    /// Calls that asked the cache and found no usable answer.
    public internal(set) var cacheMisses = 0
    /// Answers from the cache that the server confirmed first.
    public internal(set) var cacheRevalidations = 0

    /// The share of answers that came from the cache's store, confirmed ones included, from 0 to 1; 0 if no call asked
    /// it.
    public var cacheHitRatio: Double {
        part(cacheHits + cacheRevalidations, of: cacheHits + cacheMisses + cacheRevalidations, ifNone: 0)
    }

    var failureTally = Tally<PulseError.Kind>()
    var statusTally = Tally<Int>()

    /// Counts that are all 0.
    public init() {}

    /// Adds the counts of another, as if its calls had been counted here.
    public mutating func merge(_ other: CallMetrics) {
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

extension Int64 {
    /// A count that somebody else's transport gives may be anything; a negative one counts as none.
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflows) = addingReportingOverflow(Swift.max(0, other))
        return overflows ? .max : sum
    }
}
