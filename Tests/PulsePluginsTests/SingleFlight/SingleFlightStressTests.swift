// SPDX-License-Identifier: MIT

import PulseTesting
import TestSupport
import Testing

@testable import PulseCore
@testable import PulsePlugins

@Suite(.tags(.threads, .addresses), .throttled)
struct SingleFlightStressTests {
    private let runs = SingleFlight<String, String>(cancelled: "cancelled")

    private func outcome(of key: String, deadline: TimeInterval? = nil, _ work: @escaping @Sendable () async -> String)
        async -> String
    {
        await runs.join(key, for: PluginContext.mock(deadline: deadline).call) { _ in await work() }?.outcome
            ?? "none"
    }

    @Test func backgroundWorkHasNoDeadlineOfItsSubscribers() async throws {
        let (held, end) = AsyncStream<Void>.makeStream()
        let seen = Locked<CallGroup?>(nil)
        runs.startInBackground("/", unless: { _ in false }) { waiting in
            seen.withLock { $0 = waiting }
            for await _ in held {}
            return "new"
        }
        let waiting = try #require(seen.withLock { $0 })
        let call = Task<String, any Error>.startingNow { await outcome(of: "/", deadline: 5) { "another" } }
        #expect(runs.waiterCount == 1)
        #expect(waiting.deadline == nil)
        end.finish()
        #expect(try await call.value == "new")
    }

    @Test func backgroundWorkContinuesAfterItsSubscribersHaveLeft() async throws {
        let (held, end) = AsyncStream<Void>.makeStream()
        let isCancelled = Locked(false)
        runs.startInBackground("/", unless: { _ in false }) { _ in
            for await _ in held {}
            isCancelled.withLock { $0 = Task.isCancelled }
            return "new"
        }
        let call = Task<String, any Error>.startingNow { await outcome(of: "/") { "another" } }
        call.cancel()
        #expect(try await call.value == "cancelled")
        #expect(runs.runCount == 1)
        end.finish()
        await runs.waitUntilIdle()
        #expect(isCancelled.withLock { $0 } == false)
    }

    /// Subscribers use the sent request to decide whether the outcome is theirs.
    @Test func aSubscriberOfBackgroundWorkSeesTheSentRequest() async throws {
        let (held, end) = AsyncStream<Void>.makeStream()
        let sent = URLRequest.mock(.get, "/sent")
        runs.startInBackground("/", unless: { _ in false }) { waiting in
            let call = PluginContext.mock().call.detached(for: waiting)
            call.record(.request(sent))
            call.record(.secret(header: "X-Marked", isSignature: false))
            for await _ in held {}
            return "new"
        }
        let call = PluginContext.mock().call
        let joined = Task<URLRequest?, any Error>.startingNow {
            await runs.join("/", for: call) { _ in "another" }?.sent
        }
        #expect(runs.waiterCount == 1)
        end.finish()
        #expect(try await joined.value == sent)
        #expect(call.isSecret(header: "X-Marked"))
    }

    /// Runs with subscribers continue, whether or not others may still join them.
    @Test func aShutdownEndsRunsWithoutSubscribersAndWaitsForThem() async throws {
        let (held, end) = AsyncStream<Void>.makeStream()
        let (awaited, endAwaited) = AsyncStream<Void>.makeStream()
        let wasCancelled = Locked<[String: Bool]>([:])
        @Sendable func work(_ key: String, until stream: AsyncStream<Void>) async -> String {
            // Ignores its cancellation.
            await Task { for await _ in stream {} }.value
            wasCancelled.withLock { $0[key] = Task.isCancelled }
            return key
        }
        runs.startInBackground("behind", unless: { _ in false }) { _ in await work("behind", until: held) }
        let waiting = ["closed", "open"].map { key in
            Task<String, any Error>.startingNow { await outcome(of: key) { await work(key, until: awaited) } }
        }
        runs.close { $0 == "closed" }
        let left = Task<String, any Error>.startingNow {
            await outcome(of: "left") { await work("left", until: held) }
        }
        left.cancel()
        #expect(try await left.value == "cancelled")
        let hasEnded = Locked(false)
        let shutdown = Task<Void, any Error>.startingNow {
            await runs.shutdown()
            hasEnded.withLock { $0 = true }
        }
        #expect(runs.runCount == 4)
        #expect(hasEnded.withLock { $0 } == false)
        end.finish()
        try await shutdown.value
        #expect(runs.runCount == 2)
        endAwaited.finish()
        #expect(try await waiting[0].value == "closed")
        #expect(try await waiting[1].value == "open")
        await runs.waitUntilIdle()
        #expect(wasCancelled.withLock { $0 } == ["behind": true, "left": true, "closed": false, "open": false])
    }

    /// Hundreds of calls come and leave at once, some of them cancelled. Each one gets an outcome, and no run is left.
    @Test func everyCallerGetsAnOutcomeAndNoRunIsLeft() async throws {
        let random = SeededRandomness(seed: 4)
        for _ in 0..<40 {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<50 {
                    let key = "/\(random.next() % 3)"
                    let yields = random.next() % 5
                    let isCancelled = random.next() % 4 == 0
                    group.addTask {
                        let call = Task {
                            await outcome(of: key) {
                                for _ in 0..<yields { await Task.yield() }
                                return Task.isCancelled ? "cancelled" : key
                            }
                        }
                        if isCancelled { call.cancel() }
                        let result = await call.value
                        #expect(result == key || result == "cancelled")
                    }
                }
                if random.next() % 5 == 0 { group.addTask { runs.close { _ in true } } }
                if random.next() % 6 == 0 {
                    group.addTask { runs.startInBackground("/0", unless: { _ in false }) { _ in "/0" } }
                }
                if random.next() % 8 == 0 { group.addTask { await runs.shutdown() } }
            }
            await runs.shutdown()
            #expect(runs.runCount == 0)
        }
    }
}
