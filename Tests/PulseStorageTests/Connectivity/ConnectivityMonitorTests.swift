// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.throttled)
struct ConnectivityMonitorTests {
    @Test func eachSubscriberGetsTheStatusNowAndEveryChange() async {
        let monitor = ManualConnectivityMonitor(.unknown)
        let streams = [monitor.updates, monitor.updates]
        monitor.set(.unsatisfied)
        monitor.set(.unsatisfied)
        monitor.set(.satisfied)
        for stream in streams {
            var seen: [ConnectivityStatus.Path] = []
            for await status in stream.prefix(3) { seen.append(status.path) }
            #expect(seen == [.unknown, .unsatisfied, .satisfied])
        }
        #expect(monitor.current.path == .satisfied)
    }

    /// Tells when its updates are subscribed to.
    private struct WatchedMonitor: ConnectivityMonitor {
        let base = ManualConnectivityMonitor(.satisfied)
        let steps = AsyncStream<Void>.makeStream()

        var current: ConnectivityStatus { base.current }
        var updates: AsyncStream<ConnectivityStatus> {
            defer { steps.continuation.yield() }
            return base.updates
        }
    }

    @Test func aChangeIsAwaited() async {
        for known in [nil, ConnectivityStatus(path: .satisfied)] {
            let monitor = WatchedMonitor()
            // Known to be another one already.
            #expect(await monitor.waitForChange(from: ConnectivityStatus(path: .unsatisfied))?.path == .satisfied)
            let change = Task {
                // A wait that subscribes to nothing fails below.
                defer { monitor.steps.continuation.yield() }
                return await monitor.waitForChange(from: known)
            }
            var steps = monitor.steps.stream.makeAsyncIterator()
            _ = await steps.next()
            monitor.base.set(.unsatisfied)
            #expect(await change.value?.path == .unsatisfied)
        }
    }

    @Test func aWaitForAChangeEndsWithItsTimeAndItsTask() async {
        let (monitor, clock) = (ManualConnectivityMonitor(.satisfied), TestClock())
        let timed = Task { await monitor.waitForChange(timeout: 3, clock: clock) }
        await clock.sleepers(atLeast: 1, for: .timeout)
        await clock.advance(by: 3)
        #expect(await timed.value == nil)
        #expect(await monitor.waitForChange(timeout: 0, clock: clock) == nil)
        let cancelled = Task { await monitor.waitForChange(clock: clock) }
        cancelled.cancel()
        #expect(await cancelled.value == nil)
        #expect(clock.allSleeps.map(\.seconds) == [3])
    }

    @Test func aWaitForAChangeTakesADuration() async {
        guard #available(iOS 16, macOS 13, tvOS 16, watchOS 9, *) else { return }
        let (monitor, clock) = (ManualConnectivityMonitor(.satisfied), TestClock())
        let timed = Task { await monitor.waitForChange(timeout: .milliseconds(1500), clock: clock) }
        await clock.sleepers(atLeast: 1, for: .timeout)
        await clock.advance(by: 2)
        #expect(await timed.value == nil)
        #expect(clock.allSleeps.map(\.seconds) == [1.5])
    }

    @Test func aReleasedMonitorEndsItsStreams() async {
        var monitor: ManualConnectivityMonitor? = ManualConnectivityMonitor()
        let stream = monitor?.updates
        monitor = nil
        var count = 0
        if let stream { for await _ in stream { count += 1 } }
        #expect(count == 1)
    }

    /// A source that reports what the test tells it to.
    private final class HeldSource: ConnectivitySource {
        private let report = Locked<(@Sendable (ConnectivityStatus) -> Void)?>(nil)
        let starts = Locked(0)

        func start(_ report: @escaping @Sendable (ConnectivityStatus) -> Void) {
            starts.withLock { $0 += 1 }
            self.report.withLock { $0 = report }
        }

        func stop() {}
        func send(_ path: ConnectivityStatus.Path) { report.withLock { $0 }?(ConnectivityStatus(path: path)) }
    }

    @Test func theSystemMonitorIsUnknownUntilItsFirstReport() async {
        let source = HeldSource()
        let monitor = SystemConnectivityMonitor { source }
        #expect(source.starts.withLock { $0 } == 0)
        #expect(monitor.current.path == .unknown)
        let updates = monitor.updates
        source.send(.unsatisfied)
        source.send(.satisfied)
        var seen: [ConnectivityStatus.Path] = []
        for await status in updates.prefix(3) { seen.append(status.path) }
        #expect(seen == [.unknown, .unsatisfied, .satisfied])
        #expect(monitor.current.path == .satisfied)
        #expect(source.starts.withLock { $0 } == 1)
    }

    @Test func theSystemMonitorReportsAStatus() async {
        let monitor = SystemConnectivityMonitor()
        var seen: [ConnectivityStatus.Path] = []
        for await status in monitor.updates {
            seen.append(status.path)
            if status.path != .unknown { break }
        }
        #expect(seen.last != .unknown)
        #expect(monitor.current.path == seen.last)
    }
}
