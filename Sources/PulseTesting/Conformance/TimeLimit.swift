// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

/// A time limit for a case, which works even if the transport ignores cancellation.
enum TimeLimit {
    /// Returns when `body` does. When the time is up, cancels and abandons `body` and throws ``Check/Failure``.
    static func run(seconds: TimeInterval, _ body: @escaping @Sendable () async throws -> Void) async throws {
        let work = Task { try await body() }
        let verdict = Promise<Result<Void, any Error>>()
        let watchdog = Task {
            try await SystemClock().sleep(seconds)
            // The verdict is set first: a cancelled case ends with its own error.
            verdict.fulfill(.failure(Check.Failure(reason: "it has not ended within \(seconds) s")))
            work.cancel()
        }
        Task {
            let result = await work.result
            watchdog.cancel()
            verdict.fulfill(result)
        }
        try await verdict.value { work.cancel() }.get()
    }
}
