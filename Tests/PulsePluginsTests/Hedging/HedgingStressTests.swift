// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@Suite(.tags(.threads, .addresses), .throttled)
struct HedgingStressTests {
    /// Every sleep ends at once, so that every copy is sent as early as possible.
    private struct HastyClock: PulseClock {
        var now: Date { Date(timeIntervalSince1970: 0) }
        var uptime: TimeInterval { 0 }
        func sleep(_ seconds: TimeInterval) async throws {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func everyCallEndsOnceWithItsOwnResponseAndCopiesStayWithinTheirBudget(seed: UInt64) async {
        let random = SeededRandomness(seed: seed)
        let plugin = HedgingPlugin(delay: .fixed(0.1), maxCopies: 3)
        let sent = Locked(0)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<1_500 {
                let isCancelled = random.next() % 5 == 0
                let status = [200, 200, 404, 503][Int(random.next() % 4)]
                let yields = Int(random.next() % 6)
                group.addTask {
                    let context = PluginContext.mock(
                        options: RequestOptions().with(\.route, value: "r"), clock: HastyClock())
                    let call = Task {
                        try await plugin.run(in: context) { request in
                            sent.withLock { $0 += 1 }
                            for _ in 0..<yields { await Task.yield() }
                            try Task.checkCancellation()
                            return PulseResponse(statusCode: status, data: Data("\(number)".utf8), request: request)
                        }
                    }
                    if isCancelled { call.cancel() }
                    switch await call.result {
                    case .success(let response):
                        #expect(response.statusCode == status, "seed \(seed)")
                        #expect(response.data == Data("\(number)".utf8), "seed \(seed)")
                    case .failure(let error):
                        #expect(isCancelled && PulseError(wrapping: error).kind == .cancelled, "seed \(seed): \(error)")
                    }
                }
            }
        }
        #expect(sent.withLock { $0 } <= 1_500 + 1_500 / 20, "seed \(seed)")
    }
}
