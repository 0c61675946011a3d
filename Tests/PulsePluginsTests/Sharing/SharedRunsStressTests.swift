// SPDX-License-Identifier: MIT

import PulseTesting
import Testing

@testable import PulseCore
@testable import PulsePlugins

@Suite(.timeLimit(.minutes(5)))
struct SharedRunsStressTests {
    private let runs = SharedRuns<String, String>(cancelled: "cancelled")

    private func outcome(of key: String, deadline: TimeInterval? = nil, _ work: @escaping @Sendable () async -> String)
        async -> String
    {
        await runs.share(of: key, for: PluginContext.mock(deadline: deadline).call) { _ in await work() }.outcome
    }

    @Test func workBehindTheCallsHasNoDeadlineOfThose() async throws {
        let (held, end) = AsyncStream<Void>.makeStream()
        let seen = Locked<WaitingCalls?>(nil)
        runs.beginBehind("/", unless: { _ in false }) { waiting in
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

    @Test func workBehindGoesOnWhenThoseWhoJoinedItHaveLeft() async throws {
        let (held, end) = AsyncStream<Void>.makeStream()
        let isCancelled = Locked(false)
        runs.beginBehind("/", unless: { _ in false }) { _ in
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

    /// By that they judge whether its outcome is theirs.
    @Test func whoJoinsWorkBehindLearnsWhatItSent() async throws {
        let (held, end) = AsyncStream<Void>.makeStream()
        let sent = URLRequest.mock(.get, "/sent")
        runs.beginBehind("/", unless: { _ in false }) { waiting in
            let call = PluginContext.mock().call.detached(for: waiting)
            call.noteSent(sent)
            call.markSecret(header: "X-Marked")
            for await _ in held {}
            return "new"
        }
        let call = PluginContext.mock().call
        let share = Task<URLRequest?, any Error>.startingNow {
            await runs.share(of: "/", for: call) { _ in "another" }.sent
        }
        #expect(runs.waiterCount == 1)
        end.finish()
        #expect(try await share.value == sent)
        #expect(call.isSecret(header: "X-Marked"))
    }

    /// Also those who joined it before it was closed.
    @Test func aShutdownEndsWhoWaitsAtOnceAndReturnsWhenTheWorkHasEnded() async throws {
        let (held, end) = AsyncStream<Void>.makeStream()
        let waiting = ["a", "b"].map { key in
            Task<String, any Error>.startingNow {
                await outcome(of: key) {
                    // Deaf to its cancel.
                    await Task { for await _ in held {} }.value
                    return key
                }
            }
        }
        runs.close { $0 == "a" }
        let hasEnded = Locked(false)
        let shutdown = Task<Void, any Error>.startingNow {
            await runs.shutdown()
            hasEnded.withLock { $0 = true }
        }
        for call in waiting { #expect(try await call.value == "cancelled") }
        #expect(runs.runCount == 2)
        #expect(hasEnded.withLock { $0 } == false)
        end.finish()
        try await shutdown.value
        #expect(runs.runCount == 0)
    }

    /// Hundreds come and go at once, some of them cancelled; every one gets an outcome, and nothing is left.
    @Test func everybodyGetsAnOutcomeAndNothingIsLeft() async throws {
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
                        let told = await call.value
                        #expect(told == key || told == "cancelled")
                    }
                }
                if random.next() % 5 == 0 { group.addTask { runs.close { _ in true } } }
                if random.next() % 6 == 0 {
                    group.addTask { runs.beginBehind("/0", unless: { _ in false }) { _ in "/0" } }
                }
                if random.next() % 8 == 0 { group.addTask { await runs.shutdown() } }
            }
            await runs.shutdown()
            #expect(runs.runCount == 0)
        }
    }
}
