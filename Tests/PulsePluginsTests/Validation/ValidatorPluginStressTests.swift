// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// Many calls on real threads whose session ends again and again, some of them cancelled.
@Suite(.tags(.threads, .addresses), .throttled)
struct ValidatorPluginStressTests {
    private struct Ended: Error {}

    private struct Server {
        var session = 0
        var renewals = 0
        var renewing = 0
        var mostRenewing = 0
        var responses = 0
    }

    @Test func endedSessionsAreRenewedOneAtATimeAndEveryCallEnds() async throws {
        let server = Locked(Server())
        let renewal = Validator.Recovery.task("session") {
            server.withLock { server in
                server.renewing += 1
                server.mostRenewing = max(server.mostRenewing, server.renewing)
            }
            await Task.yield()
            server.withLock { server in
                server.renewing -= 1
                server.renewals += 1
                server.session = 20
            }
        }
        let plugin = ValidatorPlugin(
            [
                Validator { _, response, _ in
                    response.statusCode == 200 ? .accept : .recover(renewal, otherwise: Ended())
                }
            ], maxRepeats: 1000)
        let random = SeededRandomness(seed: 9)
        let tasks = (0..<400).map { _ in
            Task {
                try await plugin.run { request in
                    let isGood = server.withLock { server in
                        // A session serves twenty requests.
                        server.responses += 1
                        server.session -= 1
                        return server.session >= 0
                    }
                    return PulseResponse(statusCode: isGood ? 200 : 440, request: request)
                }
            }
        }
        let cancelled = tasks.filter { _ in random.next() % 4 == 0 }
        cancelled.forEach { $0.cancel() }
        var served = 0
        for task in tasks {
            switch await task.result {
            case .success(let response):
                #expect(response.statusCode == 200)
                served += 1
            case .failure(let error):
                #expect((error as? PulseError)?.kind == .cancelled)
            }
        }
        #expect(served >= tasks.count - cancelled.count)
        #expect(server.withLock { $0.mostRenewing } == 1)
        #expect(plugin.recoverer.waiterCount("session") == 0)
        await plugin.shutdown()
    }
}
