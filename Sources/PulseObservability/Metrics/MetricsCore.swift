// SPDX-License-Identifier: MIT

import PulseCore

/// The part of a collector that buses retain. It does not refer to the collector, so that the collector can be
/// deallocated.
final class MetricsCore: EventSink {
    private struct State {
        var metrics: MetricsState
        var countingSince: Date
        var isListening = false
    }

    private let clock: any PulseClock
    private let state: Locked<State>

    init(_ metrics: MetricsState, clock: any PulseClock) {
        self.clock = clock
        state = Locked(State(metrics: metrics, countingSince: clock.now))
    }

    var isActive: Bool { true }

    func emit(_ event: NetworkEvent) {
        // Outside the lock: the clock may be a custom one.
        let tick = event.isCountedByTime ? SliceClock.tick(at: clock.uptime) : 0
        state.withLock { state in
            // A late event after a detach would stay in flight forever.
            if state.isListening { state.metrics.apply(event, at: tick) }
        }
    }

    func listen() {
        state.withLock { $0.isListening = true }
    }

    func reset() {
        let now = clock.now
        state.withLock { state in
            state.metrics.reset()
            state.countingSince = now
        }
    }

    func stopListening() {
        state.withLock { state in
            state.isListening = false
            state.metrics.forgetInFlight()
        }
    }

    func snapshot() -> MetricsSnapshot {
        let (now, tick) = (clock.now, SliceClock.tick(at: clock.uptime))
        let (counts, countingSince) = state.withLock { ($0.metrics.counts, $0.countingSince) }
        return MetricsSnapshot(counts, at: tick, takenAt: now, countingSince: countingSince)
    }
}

extension MetricsSnapshot {
    init(_ counts: MetricsState.Counts, at tick: Int, takenAt: Date, countingSince: Date) {
        let (routes, hosts) = counts.series.summaries(at: tick)
        self.init(
            takenAt: takenAt,
            countingSince: min(countingSince, takenAt),
            total: routes.values.reduce(into: .zero) { $0.merge($1) },
            routes: routes,
            hosts: hosts,
            sockets: counts.sockets.total,
            socketHosts: counts.sockets.hosts,
            objectives: counts.objectives.metrics(at: tick),
            circuits: counts.circuits,
            eventCounts: counts.events.dictionary,
            offlineDelivered: counts.offlineDelivered,
            offlineFailed: counts.offlineFailed,
            connectivity: counts.connectivity)
    }
}
