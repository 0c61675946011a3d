// SPDX-License-Identifier: MIT

#if canImport(Glibc)
import PulseCore
import PulseTesting
import TestSupport
import Testing

import PulseStorage

@Suite(.throttled)
struct OfflineQueueMemoryTests {
    /// In a process of its own, where nothing else allocates.
    @Test func aReplayKeepsNoMemory() async {
        await #expect(processExitsWith: .success) {
            let queue = OfflineQueue(
                policy: OfflineQueuePolicy(), directory: nil, clock: TestClock(), connectivity: .manual())
            queue.start { _ in .status(200) }
            func replay(_ count: Int) async throws {
                for _ in 0..<count {
                    _ = try await queue.enqueue(.sample("/a"), after: .noConnection)
                    _ = try await queue.drain()
                }
            }
            // The queue remembers the results of its last entries.
            try await replay(1_000)
            let growth = try await ResidentMemory.growth(ofRounds: 4) { try await replay(1_000) }
            #expect(growth < 1 << 20, "\(growth)")
            await queue.close()
        }
    }
}
#endif
