// SPDX-License-Identifier: MIT

public import PulseCore

/// Counts the events of a bus: by route, by host and in total, in a small, bounded amount of memory.
///
/// ```swift
/// let metrics = PulseMetricsCollector()
/// metrics.attach(to: .shared)
/// …
/// let snapshot = await metrics.snapshot()
/// print(snapshot.successRate, snapshot.p99Latency)
/// ```
///
/// It needs no task and misses no event: the bus calls it synchronously. The four events of a call over a mock, built
/// and counted, take about one microsecond; Docs/Benchmarks.md has the figures. The bus does not retain the collector.
/// Safe to use from any thread.
public final class PulseMetricsCollector: Sendable {
    private let core: MetricsCore
    private let buses = Locked<[PulseEventBus]>([])

    /// Creates a collector that is not attached to a bus yet.
    ///
    /// - Parameter objectives: targets for the calls, counted in addition; none by default.
    /// - Parameter maxRoutes: the number of routes that are counted by name, first come, first served; further ones
    ///   share the name `other`.
    /// - Parameter maxHosts: the number of hosts that are counted by name, likewise.
    /// - Parameter clock: the clock for time spans such as "the last minute".
    public init(
        objectives: [ServiceLevelObjective] = [], maxRoutes: Int = 100, maxHosts: Int = 50,
        clock: any PulseClock = .system
    ) {
        core = MetricsCore(
            MetricsState(maxRoutes: maxRoutes, maxHosts: maxHosts, objectives: objectives),
            clock: clock)
    }

    deinit {
        detach()
    }

    /// Counts all later events of the bus. Several buses may be attached. Attaching one again changes nothing.
    public func attach(to bus: PulseEventBus) {
        buses.withLock { buses in
            guard !buses.contains(where: { $0 === bus }) else { return }
            buses.append(bus)
            core.listen()
            bus.addSink(core)
        }
    }

    /// Detaches from every bus. The counts stay. Calls in flight and open sockets are discarded, since their end will
    /// not be observed.
    public func detach() {
        buses.withLock { buses in
            for bus in buses { bus.removeSink(core) }
            buses = []
            core.stopListening()
        }
    }

    /// A snapshot of all counts up to now. Counting continues meanwhile: calls are blocked only while the counts are
    /// copied, not while they are added up.
    public func snapshot() async -> MetricsSnapshot {
        core.snapshot()
    }

    /// Resets all counts to zero. States stay: calls in flight, open sockets, circuits, connectivity.
    public func reset() {
        core.reset()
    }
}
