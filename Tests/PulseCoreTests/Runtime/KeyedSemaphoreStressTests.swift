// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

/// The semaphore on real threads, against a plain model: a sorted list.
@Suite(.tags(.threads, .addresses), .throttled)
struct KeyedSemaphoreStressTests {
    private struct Ticket: Comparable {
        let number: Int
        let priority: RequestOptions.Priority

        static func < (left: Ticket, right: Ticket) -> Bool {
            left.priority == right.priority ? left.number < right.number : left.priority > right.priority
        }
    }

    /// Cancellations race with released permits: the remaining waiters are served in order, and none is lost.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func theRemainingWaitersAreServedInOrder(seed: UInt64) async throws {
        let random = SeededRandomness(seed: seed)
        let permits = KeyedSemaphore<String>(limit: 1)
        let served = Locked<[Ticket]>([])
        try await permits.acquire("a")
        var calls: [(ticket: Ticket, task: Task<Void, any Error>)] = []
        for number in 0..<150 {
            let ticket = Ticket(number: number, priority: [.low, .normal, .high][Int(random.next() % 3)])
            calls.append(
                (
                    ticket,
                    Task {
                        try await permits.acquire("a", priority: ticket.priority)
                        // The single permit orders these appends.
                        served.withLock { $0.append(ticket) }
                        await Task.yield()
                        permits.release("a")
                    }
                ))
            while permits.waiterCount("a") <= number { await Task.yield() }
        }
        let chosen = calls.filter { _ in random.next() % 3 == 0 }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { permits.release("a") }
            for (_, task) in chosen { group.addTask { task.cancel() } }
        }
        var failures = 0
        for (_, task) in calls {
            guard case .failure(let error) = await task.result else { continue }
            #expect(error is CancellationError)
            failures += 1
        }
        let order = served.withLock { $0 }
        #expect(order == order.sorted())
        #expect(order.count + failures == calls.count)
        let remaining = Set(calls.map(\.ticket.number)).subtracting(chosen.map(\.ticket.number))
        #expect(remaining.isSubset(of: order.map(\.number)))
        #expect(permits.keyCount == 0)
    }
}
