// SPDX-License-Identifier: MIT

public import PulseCore

/// Counts what the events of a bus tell: by route, by host and in all, in little and bounded memory.
///
/// ```swift
/// let metrics = PulseMetricsCollector()
/// metrics.attach(to: .shared)
/// …
/// let snapshot = await metrics.snapshot()
/// print(snapshot.successRate, snapshot.p99Latency)
/// ```
///
/// It needs no task and misses no event: it listens in place. The four events of a call over a mock, built and counted, take
/// one to two microseconds; Docs/Benchmarks.md has the figures. It ends with its last reference: the bus does not keep it.
/// Safe to use from any thread.
public final class PulseMetricsCollector: Sendable {
    private let core: MetricsCore
    private let buses = Locked<[PulseEventBus]>([])

    /// - Parameter objectives: what is promised of the calls, counted besides.
    /// - Parameter maximumRoutes: that are counted by name, the first to come; further ones share the name `other`.
    /// - Parameter maximumHosts: likewise.
    /// - Parameter clock: what "the last minute" is counted by.
    public init(
        objectives: [ServiceLevelObjective] = [], maximumRoutes: Int = 100, maximumHosts: Int = 50,
        clock: any PulseClock = .system
    ) {
        core = MetricsCore(
            MetricsLedger(maximumRoutes: maximumRoutes, maximumHosts: maximumHosts, objectives: objectives),
            clock: clock)
    }

    deinit {
        detach()
    }

    /// Counts the bus's events from now on. Several may be attached; the same twice counts once.
    public func attach(to bus: PulseEventBus) {
        buses.withLock { buses in
            guard !buses.contains(where: { $0 === bus }) else { return }
            buses.append(bus)
            core.listen()
            bus.addSink(core)
        }
    }

    /// Leaves every bus. What was counted stays; calls in flight are forgotten, since their end will not be heard.
    public func detach() {
        buses.withLock { buses in
            for bus in buses { bus.removeSink(core) }
            buses = []
            core.stopListening()
        }
    }

    /// All that is counted up to now. Calls go on being counted meanwhile: only taking the cut holds them up, not making
    /// sums of it.
    public func snapshot() async -> MetricsSnapshot {
        core.snapshot()
    }

    /// Counts from zero. What is a state and no count stays: calls in flight, circuits, connectivity.
    public func reset() {
        core.reset()
    }
}
