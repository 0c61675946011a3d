// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.throttled)
struct QueueWaitersTests {
    private let waiters = QueueWaiters()
    private let id = UUID(number: 1)

    /// Runs `body` once `wait` has registered its caller, and returns the result of `wait`.
    private func during<Value: Sendable>(
        _ wait: @escaping @Sendable (@escaping @Sendable () -> Void) async throws -> Value, _ body: () -> Void
    ) async throws -> Value {
        let (registered, registrations) = AsyncStream.makeStream(of: Void.self)
        let waiter = Task { try await wait { registrations.yield() } }
        for await _ in registered { break }
        body()
        return try await waiter.value
    }

    /// The pass may have looked for entries before the caller came.
    @Test func aCallerThatComesDuringADrainPassWaitsForTheNext() async throws {
        let pass = waiters.beginDrainPass()
        try await during({ [waiters] registered in await waiters.waitUntilIdle(registered) }) {
            waiters.becameIdle(inPass: pass)
            #expect(waiters.idleWaiterCount == 1)
            waiters.becameIdle(inPass: waiters.beginDrainPass())
            #expect(waiters.idleWaiterCount == 0)
        }
    }

    /// The waiters' lock is free only when the caller is registered.
    @Test func anEntryThatEndsAfterTheCheckFindsItsWaiter() async throws {
        let response = try await during({ [waiters, id] registered in
            try await waiters.outcome(of: id) {
                registered()
                return true
            }
        }) { waiters.end(id, .done(status: 204)) }
        #expect(response?.statusCode == 204)
        #expect(try await waiters.outcome(of: id, isPending: { false })?.statusCode == 204)
        waiters.end(id, nil)
        #expect(try await waiters.outcome(of: id, isPending: { false }) == nil)
    }

    @Test func closingEndsAllWaitsAndAllowsNoMore() async throws {
        try await during({ [waiters] registered in await waiters.waitUntilIdle(registered) }) { waiters.close() }
        await waiters.waitUntilIdle { Issue.record("a closed queue does not start to drain") }
        let error = await #expect(throws: PulseError.self) { try await waiters.outcome(of: id, isPending: { true }) }
        #expect(error?.kind == .cancelled)
    }
}
