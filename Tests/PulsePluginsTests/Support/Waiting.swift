// SPDX-License-Identifier: MIT

import PulseCore

/// Simulates waiting on the client: waits before each send, and sends once and a number of repeats.
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
