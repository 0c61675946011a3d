// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// Many concurrent calls on real threads, some of them cancelled.
@Suite(.tags(.threads, .addresses), .throttled)
struct LimitsStressTests {
    private struct Inside {
        var now = 0
        var most = 0
        var sum = 0
    }

    @Test func theLimitIsNeverExceededAndEveryCallEnds() async throws {
        let plugin = ConcurrencyLimitPlugin(limit: 3)
        let random = SeededRandomness(seed: 5)
        let inside = Locked(Inside())
        let hosts = ["https://a.example/", "https://b.example/"].map { URLRequest.mock(.get, $0) }
        let tasks = (0..<600).map { index in
            Task {
                let options = RequestOptions().with(\.priority, value: [.low, .normal, .high][index % 3])
                let request = hosts[index % 2]
                _ = try await plugin.run(request, in: .mock(for: request, options: options)) { request in
                    inside.withLock { inside in
                        inside.now += 1
                        inside.sum += 1
                        inside.most = max(inside.most, inside.now)
                    }
                    await Task.yield()
                    inside.withLock { $0.now -= 1 }
                    return PulseResponse(statusCode: 200, request: request)
                }
            }
        }
        var cancelled = 0
        for task in tasks where random.next() % 3 == 0 {
            task.cancel()
            cancelled += 1
        }
        for task in tasks { _ = await task.result }
        #expect(inside.withLock { $0.most } <= 6)
        #expect(inside.withLock { $0.sum } >= 600 - cancelled)
        #expect(inside.withLock { $0.now } == 0)
        #expect(plugin.keyCount == 0)
    }

    @Test func theRateHoldsDespiteCancellationsAndEveryCallEnds() async throws {
        let clock = TestClock(autoAdvances: true)
        let plugin = RateLimitPlugin(requests: 100, per: 1, burst: 1, maxWait: .infinity)
        let random = SeededRandomness(seed: 6)
        let sent = Locked<[TimeInterval]>([])
        let tasks = (0..<600).map { _ in
            Task {
                _ = try await plugin.run(in: .mock(clock: clock)) { request in
                    sent.withLock { $0.append(clock.uptime) }
                    return PulseResponse(statusCode: 200, request: request)
                }
            }
        }
        var cancelled = 0
        for task in tasks where random.next() % 3 == 0 {
            task.cancel()
            cancelled += 1
        }
        for task in tasks { _ = await task.result }
        let count = sent.withLock { $0.count }
        #expect(count >= 600 - cancelled)
        // The last token was not available before this time.
        #expect(clock.uptime >= Double(count - 1) * 0.01 - 1e-6)
    }

    @Test func pausesFromManyThreadsLoseNoCall() async throws {
        let clock = TestClock(autoAdvances: true)
        let plugin = RateLimitPlugin(requests: 1000, per: 1, maxWait: .infinity)
        let completed = Locked(0)
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<400 {
                group.addTask {
                    _ = try? await plugin.run(in: .mock(clock: clock)) { request in
                        completed.withLock { $0 += 1 }
                        let headers: HTTPHeaders = index % 7 == 0 ? ["Retry-After": "1"] : [:]
                        return PulseResponse(statusCode: index % 7 == 0 ? 503 : 200, headers: headers, request: request)
                    }
                }
            }
        }
        #expect(completed.withLock { $0 } == 400)
    }
}
