// SPDX-License-Identifier: MIT

import PulseCore

/// The part of a collector that buses keep: it does not refer to the collector, which can go away.
final class MetricsCore: EventSink {
    private struct State {
        var ledger: MetricsState
        var countingSince: Date
        var isListening = false
    }

    private let clock: any PulseClock
    private let state: Locked<State>

    init(_ ledger: MetricsState, clock: any PulseClock) {
        self.clock = clock
        state = Locked(State(ledger: ledger, countingSince: clock.now))
    }

    var isActive: Bool { true }

    func emit(_ event: NetworkEvent) {
        // Outside the lock: the clock may be anybody's.
        let tick = event.isCountedByTime ? SliceClock.tick(at: clock.uptime) : 0
        state.withLock { state in
            // An event that was on its way when the collector left would stay in flight for ever.
            if state.isListening { state.ledger.apply(event, at: tick) }
        }
    }

    func listen() {
        state.withLock { $0.isListening = true }
    }

    func reset() {
        let now = clock.now
        state.withLock { state in
            state.ledger.reset()
            state.countingSince = now
        }
    }

    func stopListening() {
        state.withLock { state in
            state.isListening = false
            state.ledger.forgetInFlight()
        }
    }

    func snapshot() -> MetricsSnapshot {
        let (now, tick) = (clock.now, SliceClock.tick(at: clock.uptime))
        let (counts, countingSince) = state.withLock { ($0.ledger.counts, $0.countingSince) }
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
            objectives: counts.objectives.metrics(at: tick),
            circuits: counts.circuits,
            eventCounts: counts.events.dictionary,
            offlineDelivered: counts.offlineDelivered,
            offlineFailed: counts.offlineFailed,
            connectivity: counts.connectivity)
    }
}
