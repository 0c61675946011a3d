// SPDX-License-Identifier: MIT

import PulseCore

extension MetricsSnapshot {
    /// All metrics, for an exporter: in a fixed order, without the families that have no sample.
    package var families: [MetricFamily] {
        (routeFamilies + hostFamilies + socketFamilies + sharedFamilies).filter { !$0.samples.isEmpty }
    }

    // MARK: By route

    private var routeFamilies: [MetricFamily] {
        [
            each("requests", "Completed calls, by outcome.", routes, "route") { $0.overall.outcomes },
            each("requests.in_flight", "Calls in flight.", routes, "route", .gauge) { series in
                [([], .integer(Int64(series.inFlight)))]
            },
            each(
                "request.duration", "Duration of calls that succeeded or failed, from start to end.", routes, "route",
                .histogram, .seconds
            ) { [([], .histogram($0.latency))] },
            each("request.failures", "Failed calls, by error kind.", routes, "route") { series in
                series.failuresByKind.map { ([("kind", $0.rawValue)], .integer(Int64($1))) }
            },
            each("responses", "Server responses by status, including those of retried attempts.", routes, "route") {
                series in
                series.statuses.map { ([("status", $0 == 0 ? "invalid" : "\($0)")], .integer(Int64($1))) }
            },
            each("attempts", "Requests sent to the network.", routes, "route") {
                [([], .integer(Int64($0.attempts)))]
            },
            each("retries", "Attempts after the first.", routes, "route") { [([], .integer(Int64($0.retries)))] },
            each("retries.given_up", "Failures that could not be retried any more.", routes, "route") { series in
                [([], .integer(Int64(series.retriesGivenUp)))]
            },
            each("redirects", "Redirects that were followed.", routes, "route") {
                [([], .integer(Int64($0.redirects)))]
            },
            each("rate_limited", "Calls that a rate limit delayed or rejected.", routes, "route") { series in
                [([], .integer(Int64(series.rateLimited)))]
            },
            each("cache.requests", "Cache lookups, by result.", routes, "route") {
                $0.overall.cacheResults
            },
            each("received", "Body bytes received, after decompression.", routes, "route", .counter, .bytes) {
                series in
                [([], .integer(series.bytesReceived))]
            },
            each("delivered", "Body bytes of completed calls, from any source.", routes, "route", .counter, .bytes) {
                series in
                [([], .integer(series.bytesDelivered))]
            },
            each("phase.duration", "Duration of exchanges by phase.", routes, "route", .summary, .seconds) { series in
                Phase.allCases.filter { series.phases[$0].count > 0 }.map { phase in
                    let total = series.phases[phase]
                    return ([("phase", phase.rawValue)], .total(count: total.count, sum: total.sum))
                }
            },
        ]
    }

    // MARK: By host

    private var hostFamilies: [MetricFamily] {
        [
            each("host.requests", "Completed calls by initial host and outcome.", hosts, "host") {
                $0.overall.outcomes
            },
            each(
                "host.request.duration", "Duration of calls that succeeded or failed, by initial host.",
                hosts, "host", .histogram, .seconds
            ) { [([], .histogram($0.latency))] },
        ]
    }

    // MARK: Shared

    private var sharedFamilies: [MetricFamily] {
        let circuits = circuits.sorted { $0.key < $1.key }
        let objectives = objectives.map { ([("objective", SeriesName.shown($0.objective.name))], $0) }
        return [
            MetricFamily("circuit.state", "1 for the current state of a circuit.", .gauge) {
                circuits.flatMap { name, circuit in
                    Circuit.State.allCases.map { state in
                        ([("circuit", name), ("state", state.rawValue)], .integer(state == circuit.state ? 1 : 0))
                    }
                }
            },
            MetricFamily("circuit.openings", "Number of times a circuit opened.", .counter) {
                circuits.map { ([("circuit", $0)], .integer(Int64($1.openings))) }
            },
            MetricFamily("objective.good", "Calls that an objective counts as good.", .counter) {
                objectives.map { ($0, .integer(Int64($1.overall.good))) }
            },
            MetricFamily("objective.valid", "Calls that an objective counts.", .counter) {
                objectives.map { ($0, .integer(Int64($1.overall.valid))) }
            },
            MetricFamily("objective.target", "Target share of good calls.", .gauge) {
                objectives.map { ($0, .number($1.objective.target)) }
            },
            MetricFamily("offline_queue.entries", "Entries that left the offline queue, by outcome.", .counter) {
                offlineDelivered + offlineFailed == 0
                    ? []
                    : [
                        ([("outcome", "delivered")], .integer(Int64(offlineDelivered))),
                        ([("outcome", "failed")], .integer(Int64(offlineFailed))),
                    ]
            },
            MetricFamily("connected", "1 with a network path, 0 without.", .gauge) {
                guard let path = connectivity?.path, path != .unknown else { return [] }
                return [([], .integer(path == .satisfied ? 1 : 0))]
            },
            MetricFamily("events", "Events of the bus, by kind.", .counter) {
                eventCounts.sorted { $0.key.rawValue < $1.key.rawValue }.map { kind, count in
                    ([("kind", kind.rawValue)], .integer(Int64(count)))
                }
            },
        ]
    }

    private typealias Labeled = MetricFamily.Labeled

    private func each(
        _ name: String, _ help: String, _ series: [String: Series], _ label: String,
        _ kind: MetricFamily.Kind = .counter, _ unit: MetricFamily.Unit = .none,
        _ samples: (Series) -> [Labeled]
    ) -> MetricFamily {
        MetricFamily(name, help, kind, unit) {
            series.sorted { $0.key < $1.key }.flatMap { name, series in
                samples(series)
                    .sorted { ($0.0.first?.1 ?? "") < ($1.0.first?.1 ?? "") }
                    .map { ([(label, name)] + $0.0, $0.1) }
            }
        }
    }
}

extension MetricFamily {
    typealias Labeled = ([(String, String)], Value)

    init(_ name: String, _ help: String, _ kind: Kind, _ unit: Unit = .none, _ samples: () -> [Labeled]) {
        self.init(
            name: name, help: help, kind: kind, unit: unit,
            samples: samples().map { Sample(labels: $0.0.map { (name: $0.0, value: $0.1) }, value: $0.1) })
    }
}

extension MetricsSnapshot.Calls {
    fileprivate var outcomes: [MetricFamily.Labeled] {
        [("succeeded", succeeded), ("failed", failed), ("cancelled", cancelled), ("queued_offline", queuedOffline)].map
        {
            ([("outcome", $0)], .integer(Int64($1)))
        }
    }

    fileprivate var cacheResults: [MetricFamily.Labeled] {
        guard cacheHits + cacheMisses + cacheRevalidations > 0 else { return [] }
        return [("hit", cacheHits), ("miss", cacheMisses), ("revalidated", cacheRevalidations)].map {
            ([("result", $0)], .integer(Int64($1)))
        }
    }
}
