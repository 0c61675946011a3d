// SPDX-License-Identifier: MIT

import PulseCore

/// Stands for what holds a call up on this side: waits before each time it goes on, which it does once and so many times
/// more.
struct Waiting: PulsePlugin {
    let identifier = "waiting"
    var repeats = 0
    let wait: @Sendable () async -> Void

    func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        for _ in 0..<repeats {
            await wait()
            _ = try await next(request, context: context.with(attempt: context.attempt))
        }
        await wait()
        return try await next(request)
    }
}
