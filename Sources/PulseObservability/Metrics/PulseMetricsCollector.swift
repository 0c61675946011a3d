// SPDX-License-Identifier: MIT

public import PulseCore

/// A collector that counts what the events of a bus tell: by route, by host and in all, in little and bounded memory.
///
/// ```swift
/// let metrics = PulseMetricsCollector()
/// metrics.attach(to: .shared)
/// …
/// let snapshot = await metrics.snapshot()
/// print(snapshot.successRate, snapshot.p99Latency)
/// ```
///
/// It needs no task and misses no event: it listens in place. The four events of a call over a mock, built and counted,
/// take about one microsecond; Docs/Benchmarks.md has the figures. It ends with its last reference: the bus does not
/// keep it. Safe to use from any thread.
public final class PulseMetricsCollector: Sendable {
    private let core: MetricsCore
    private let buses = Locked<[PulseEventBus]>([])

    /// A collector that is attached to no bus yet.
    ///
    /// - Parameter objectives: what is promised of the calls, counted besides; none by default.
    /// - Parameter maximumRoutes: routes that are counted by name, the first to come; further ones share the name
    ///   `other`.
    /// - Parameter maximumHosts: hosts that are counted by name, likewise.
    /// - Parameter clock: what "the last minute" is counted by.
    public init(
        objectives: [ServiceLevelObjective] = [], maximumRoutes: Int = 100, maximumHosts: Int = 50,
        clock: any PulseClock = .system
    ) {
        core = MetricsCore(
            MetricsState(maximumRoutes: maximumRoutes, maximumHosts: maximumHosts, objectives: objectives),
            clock: clock)
    }

    deinit {
        detach()
    }

    /// Counts the bus's events from now on. Several buses may be attached; attaching one again changes nothing.
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

    /// A snapshot of all that is counted up to now. Counting goes on meanwhile: calls are held up only while the cut is
    /// taken, not while the sums are made.
    public func snapshot() async -> MetricsSnapshot {
        core.snapshot()
    }

    /// Counts from zero. What is a state and no count stays: calls in flight, circuits, connectivity.
    public func reset() {
        core.reset()
    }
}
