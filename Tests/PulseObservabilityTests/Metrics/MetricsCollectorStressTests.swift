// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@Suite(.tags(.threads, .addresses), .throttled)
struct MetricsCollectorStressTests {
    private static let writers = 8
    private static let callsOfEach = 2000

    /// Each reader takes fifteen snapshots. The writers stop when the readers are done.
    @Test func aSnapshotUnderLoadIsConsistent() async {
        let bus = PulseEventBus()
        let collector = PulseMetricsCollector(
            objectives: [ServiceLevelObjective("all", target: 0.9)], maxRoutes: 5, maxHosts: 2)
        collector.attach(to: bus)
        let (readers, written) = (Locked(2), Locked(0))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    for _ in 0..<15 {
                        Self.expectConsistency(of: await collector.snapshot())
                        await Task.yield()
                    }
                    readers.withLock { $0 -= 1 }
                }
            }
            await Threads.run(Self.writers) { writer in
                var count = 0
                repeat {
                    Self.write(100, to: bus, as: writer)
                    count += 100
                } while readers.withLock { $0 } > 0 && count < 50_000
                written.withLock { [count] in $0 += count }
            }
        }
        let snapshot = await collector.snapshot()
        Self.expectConsistency(of: snapshot)
        #expect(snapshot.inFlight == 0)
        #expect(snapshot.total.completed == written.withLock { $0 })
        #expect(snapshot.total.attempts == written.withLock { $0 })
    }

    private static func write(_ calls: Int, to bus: PulseEventBus, as writer: Int) {
        for number in 0..<calls {
            let call = NetworkEvent.CallSummary.sample("route \(number % 7)", host: "h\(writer % 3).example")
            let result: Result<NetworkEvent.ResponseSummary, PulseError.Summary> =
                switch number % 5 {
                case 0: .error(.timeout)
                case 1: .error(.cancelled)
                default: .ok()
                }
            bus.emitCall(call, result, latency: TimeInterval(number) / 1000)
        }
    }

    private static func expectConsistency(of snapshot: MetricsSnapshot) {
        let total = snapshot.total
        #expect(snapshot.eventCounts[.requestStarted, default: 0] == total.completed + snapshot.inFlight)
        #expect(snapshot.eventCounts[.requestCompleted, default: 0] == total.completed)
        #expect(snapshot.eventCounts[.attemptStarted, default: 0] == total.attempts)
        #expect(snapshot.eventCounts[.responseReceived, default: 0] == total.statuses.values.reduce(0, +))
        #expect(total.latency.count == total.succeeded + total.failed)
        #expect(total.latency.count(atMost: .infinity) == total.latency.count)
        #expect(total.failuresByKind.values.reduce(0, +) == total.failed)
        #expect(snapshot.objectives.first?.overall.valid == total.succeeded + total.failed)
        for series in [snapshot.routes, snapshot.hosts] {
            #expect(series.values.reduce(0) { $0 + $1.completed } == total.completed)
            #expect(series.values.reduce(0) { $0 + $1.attempts } == total.attempts)
            #expect(series.values.reduce(0) { $0 + $1.inFlight } == snapshot.inFlight)
            #expect(series.values.reduce(0) { $0 + $1.latency.count } == total.latency.count)
        }
    }

    /// Attaching and detaching during a load neither loses the collector nor leaves a call in flight.
    @Test func attachingAndDetachingUnderLoadLeavesNothingInFlight() async {
        let bus = PulseEventBus()
        let collector = PulseMetricsCollector()
        let isOver = Locked(false)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                repeat {
                    collector.attach(to: bus)
                    collector.reset()
                    collector.detach()
                    await Task.yield()
                } while !isOver.withLock { $0 }
            }
            await Threads.run(Self.writers) { Self.write(Self.callsOfEach, to: bus, as: $0) }
            isOver.withLock { $0 = true }
        }
        collector.detach()
        #expect(await collector.snapshot().inFlight == 0)
        #expect(!bus.isActive)
    }

    @Test func concurrentTracesAreKeptSeparate() async {
        let bus = PulseEventBus()
        let buffer = CallTracer.Buffer(capacity: Self.writers * Self.callsOfEach)
        let tracer = CallTracer(output: buffer)
        bus.addSink(tracer)
        await Threads.run(Self.writers) { Self.write(Self.callsOfEach, to: bus, as: $0) }
        let traces = buffer.takeAll()
        #expect(traces.count == Self.writers * Self.callsOfEach && tracer.untracedCallCount == 0)
        #expect(Set(traces.map(\.traceID)).count == traces.count)
        #expect(traces.allSatisfy { $0.attempts.count == 1 && $0.attempts[0].host == $0.host })
    }
}
