// SPDX-License-Identifier: MIT

import PulseCore
import Testing

@testable import PulseNetworking

@Suite(.timeLimit(.minutes(5)))
struct CallRegistryTests {
    @Test(arguments: [true, false])
    func aCallMovedToAnotherTaskAfterItsCancellationIsCancelledThere(byShutdown: Bool) async throws {
        let calls = CallRegistry()
        let cancelled = Locked<[String]>([])
        let ticket = try #require(calls.add(tag: nil, .other { cancelled.withLock { $0.append("task") } }))
        let shutdown = Task { if byShutdown { await calls.shutdown() } }
        if byShutdown {
            while !calls.isShutDown { await Task.yield() }
        }
        calls.cancelAll()
        calls.update(ticket, .other { cancelled.withLock { $0.append("stream") } })
        #expect(cancelled.withLock { $0.last } == "stream")
        calls.remove(ticket)
        await shutdown.value
    }

    @Test func aCallWithAnotherTagIsMovedWithoutCancellation() throws {
        let calls = CallRegistry()
        let cancelled = Locked<[String]>([])
        let ticket = try #require(calls.add(tag: "feed", .other { cancelled.withLock { $0.append("task") } }))
        calls.cancelAll(tag: "search")
        calls.update(ticket, .other { cancelled.withLock { $0.append("stream") } })
        #expect(cancelled.withLock { $0 }.isEmpty)
    }
}
