// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

/// Failures of other work that a call waited for, such as the refresh of its token.
@Suite(.throttled)
struct RetryLoopOtherWorkTests {
    /// The first attempt fails for other work, each later one for itself, before anything is sent.
    private struct Failing: PulsePlugin {
        let identifier = "com.example.failing"
        let scope = PluginScope.attempt
        let count = Locked(0)

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            let isFirst = count.withLock { count in
                defer { count += 1 }
                return count == 0
            }
            if isFirst { context.call.record(.failsForOtherWork(true)) }
            throw PulseError.noConnection
        }
    }

    /// A breaker or a limit around the attempt would otherwise not count the failure, and the offline queue would blame
    /// the refresh. The wire clears the note as well, but this attempt does not get there.
    @Test func aRetrysOwnFailureBeforeTheWireIsNotThatOfOtherWork() async throws {
        let chain = ChainUnderTest()
        let request = try request()
        for (attempts, isOfOtherWork) in [(1, true), (2, false)] {
            let context = chain.context(for: request)
            let policy = RetryPolicy(maxAttempts: attempts, backoffStrategy: .immediate)
            let result = await chain.run(
                request, in: context, through: chain.pipeline([Failing()], configured: policy))
            #expect(result.error?.kind == .noConnection)
            #expect(context.call.failsForOtherWork == isOfOtherWork)
            #expect(chain.sent.isEmpty)
        }
    }
}
