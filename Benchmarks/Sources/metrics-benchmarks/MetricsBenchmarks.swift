// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import Reporting

/// Measures the cost of observation: events, the collector, streams and snapshots. Prints it, and exits with code 1 if
/// a limit is exceeded. `--short` runs a fiftieth of it, with margins that only a gross regression exceeds.
@main
struct MetricsBenchmarks {
    private let isShort: Bool
    private var report = Report()
    private var promises: [Promise] = []

    static func main() async throws {
        let isShort = CommandLine.arguments.contains("--short")
        // Off the main actor, since every step would have to hop to and from it.
        let holds = try await Task.detached {
            var benchmarks = MetricsBenchmarks(isShort: isShort)
            return try await benchmarks.run()
        }.value
        if !holds { exit(1) }
    }

    private init(isShort: Bool) {
        self.isShort = isShort
    }

    private mutating func run() async throws -> Bool {
        let events = try await measureCalls()
        await measureSnapshots(events: events)
        await measureStreams()
        measureStuckReader()
        report.verdicts(promises)
        print(report.text)
        return promises.allSatisfy(\.holds)
    }

    private mutating func promise(_ text: String, atMost limit: Double, _ measured: Double) {
        promises.append(Promise(text, .atMost, limit, measured: measured, margin: isShort ? 10 : 0.05))
    }

    // MARK: Calls

    /// Returns the nanoseconds of a call's events with a collector, without the call.
    private mutating func measureCalls() async throws -> Double {
        let (quiet, counted, traced) = (PulseEventBus(), PulseEventBus(), PulseEventBus())
        let collector = PulseMetricsCollector()
        collector.attach(to: counted)
        traced.addSink(CallTracer(output: CallTracer.Buffer()))
        let clients = try [quiet, counted, traced].map(WatchedWorkload.client)
        var best = [Double](repeating: .infinity, count: clients.count)
        // They alternate, so that a busy moment affects all alike.
        for _ in 0..<(isShort ? 30 : 1_500) {
            for (index, client) in clients.enumerated() {
                best[index] = min(best[index], try await WatchedWorkload.time(of: client, calls: 100))
            }
        }
        let events = WatchedWorkload.events
        let ready = bestTime { times in
            for _ in 0..<times { events.forEach(counted.emit) }
        }
        let asking = bestTime { times in
            for _ in 0..<times { keep(quiet.isActive) }
        }
        let lock = Locked(0)
        let locking = bestTime { times in
            for _ in 0..<times { lock.withLock { $0 += 1 } }
        }
        let context = PluginContext.mock(events: quiet)
        let unheard = bestTime { times in
            for _ in 0..<times { context.emit(.cacheHit(context.summary)) }
        }
        report.heading("Nanoseconds", ["a call", "its events"])
        report.row("without a subscriber", [decimal(best[0]), ""])
        report.row("a collector listens", [decimal(best[1]), decimal(best[1] - best[0])])
        report.row("a tracer listens", [decimal(best[2]), decimal(best[2] - best[0])])
        report.row("the same events, built before", ["", decimal(ready)])
        report.row("isActive, without a subscriber", ["", Report.decimal(asking, 1)])
        report.row("one event of a context, without a subscriber", ["", Report.decimal(unheard, 1)])
        report.row("locking and unlocking an NSLock", ["", Report.decimal(locking, 1)])
        promise("events of a call, collected / the call", atMost: 0.15, (best[1] - best[0]) / best[0])
        promise("event without a subscriber / a lock", atMost: 1.5, unheard / locking)
        return ready
    }

    /// Nanoseconds per run, in the best of many rounds.
    private func bestTime(_ body: (_ times: Int) -> Void) -> Double {
        let clock = SystemClock()
        var best = Double.infinity
        for _ in 0..<(isShort ? 50 : 2_000) {
            let start = clock.uptime
            body(200)
            best = min(best, (clock.uptime - start) * 1e9 / 200)
        }
        return best
    }

    // MARK: Snapshots

    /// Of a collector that has counted for six minutes: each route has all its time slices and older counts.
    private mutating func measureSnapshots(events: Double) async {
        let (bus, clock) = (PulseEventBus(), TestClock())
        let collector = PulseMetricsCollector(clock: clock)
        collector.attach(to: bus)
        let before = ResidentMemory.size ?? 0
        for _ in 0..<36 {
            for number in 0..<(isShort ? 2_000 : 30_000) {
                let route = "route \(number % 100)"
                for event in WatchedWorkload.events(route, latency: Double(number % 997) * 1e-4) { bus.emit(event) }
            }
            await clock.advance(by: 10)
        }
        let grown = Double((ResidentMemory.size ?? 0) - before)
        let time = SystemClock()
        var best = Double.infinity
        for _ in 0..<20 {
            let start = time.uptime
            let snapshot = await collector.snapshot()
            keep(snapshot.p99Latency)
            best = min(best, time.uptime - start)
        }
        let snapshot = await collector.snapshot()
        let start = time.uptime
        keep(PrometheusText().text(of: snapshot).utf8.count)
        let page = time.uptime - start
        report.heading("100 routes, six minutes", ["ms, KiB"])
        report.row("a snapshot", [Report.decimal(best * 1000, 2)])
        report.row("a page of Prometheus", [Report.decimal(page * 1000, 2)])
        report.row("memory grown, each route", [Report.decimal(grown / 100 / 1024, 1)])
        promise("snapshot, for each route / a call's events", atMost: 75, best * 1e9 / 100 / events)
        promise("KiB for each route", atMost: 64, grown / 100 / 1024)
    }

    // MARK: Streams

    /// 50,000 events a second, a burst each millisecond, to four readers with the default buffer. A halt of the machine
    /// is not compensated by a flood. In the short form each burst waits until the readers have read the one before: a
    /// busy machine may starve them for longer than the buffer lasts.
    private mutating func measureStreams() async {
        report.heading("50,000 events a second to 4 streams", ["lost", "read", "sent a second"])
        var rounds: [(lost: Int, read: Int, rate: Double)] = []
        // The best of five, as for times: a halt of ten milliseconds causes losses by itself.
        while rounds.count < 5, !rounds.contains(where: { $0.lost == 0 && (isShort || $0.rate >= 49_000) }) {
            let round = await streamed()
            rounds.append(round)
            report.row(
                "round \(rounds.count)", ["\(round.lost)", "\(round.read)", Report.decimal(round.rate, 0)])
        }
        let best = rounds.min { ($0.lost, -$0.rate) < ($1.lost, -$1.rate) } ?? (.max, 0, 0)
        promises.append(Promise("events lost by 4 streams", .atMost, 0, measured: Double(best.lost), margin: 0))
        // In the short form the readers set the pace.
        if !isShort {
            promises.append(Promise("events sent a second", .atLeast, 49_000, measured: best.rate, margin: 0))
        }
        let strays = rounds.reduce(0) { $0 + abs($1.read + $1.lost - 4 * bursts * 50) }
        promises.append(Promise("events neither read nor lost", .atMost, 0, measured: Double(strays), margin: 0))
    }

    private var bursts: Int { isShort ? 200 : 4_000 }

    private func streamed() async -> (lost: Int, read: Int, rate: Double) {
        let bus = PulseEventBus()
        let subscriptions = (0..<4).map { _ in bus.subscribe() }
        let read = subscriptions.map { _ in Locked(0) }
        let readers = zip(subscriptions, read).map { subscription, read in
            Task.detached {
                for await _ in subscription { read.withLock { $0 += 1 } }
            }
        }
        let (bursts, waits) = (bursts, isShort)
        let took = Locked(0.0)
        await Self.onThread {
            let clock = SystemClock()
            let (events, start) = (WatchedWorkload.events, clock.uptime)
            defer { took.withLock { $0 = clock.uptime - start } }
            var next = start
            for burst in 0..<bursts {
                while clock.uptime < next { usleep(100) }
                // A late wake-up is compensated; a halt is not.
                next += 0.001
                if clock.uptime > next + 0.003 { next = clock.uptime }
                while waits, bus.droppedEventCount == 0, read.contains(where: { $0.withLock { $0 } < burst * 50 }) {
                    usleep(100)
                }
                for number in 0..<50 { bus.emit(events[number % events.count]) }
            }
        }
        subscriptions.forEach { $0.cancel() }
        for reader in readers { await reader.value }
        let lost = subscriptions.reduce(0) { $0 + $1.droppedEventCount }
        return (lost, read.reduce(0) { $0 + $1.withLock { $0 } }, Double(bursts * 50) / took.withLock { $0 })
    }

    private mutating func measureStuckReader() {
        let (bus, healthy) = (PulseEventBus(), PulseEventBus())
        let stuck = bus.subscribe()
        let sink = CountingSink()
        bus.addSink(sink)
        healthy.addSink(CountingSink())
        let event = WatchedWorkload.events[0]
        let without = bestTime { times in for _ in 0..<times { healthy.emit(event) } }
        let with = bestTime { times in for _ in 0..<times { bus.emit(event) } }
        report.heading("A stuck reader", ["ns an event"])
        report.row("without", [Report.decimal(without, 1)])
        report.row("with", [Report.decimal(with, 1)])
        let lost = Double(sink.count - 512 - stuck.droppedEventCount)
        promises.append(Promise("events lost by others than the stuck", .atMost, 0, measured: lost, margin: 0))
        // Each event takes one slot and frees another.
        promise("event with a stuck reader / without", atMost: 2.5, with / without)
    }

    private static func onThread(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                body()
                continuation.resume()
            }
        }
    }

    private func decimal(_ value: Double) -> String { Report.decimal(value, 0) }
}

/// Consumes a result, so that the optimizer cannot remove the work for it.
@inline(never)
func keep<Value>(_ value: Value) {}

/// Counts its events.
private final class CountingSink: EventSink {
    private let total = Locked(0)

    var isActive: Bool { true }
    var count: Int { total.withLock { $0 } }

    func emit(_ event: NetworkEvent) { total.withLock { $0 += 1 } }
}

/// A value behind a lock of Foundation, since the package's own lock is not public.
private final class Locked<Value: Sendable>: @unchecked Sendable {
    // Unchecked: accessed only under the lock.
    private var value: Value
    private let lock = NSLock()

    init(_ value: Value) { self.value = value }

    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&value)
    }
}
