// SPDX-License-Identifier: MIT

import PulseCore

@testable import PulsePlugins

extension RateLimiter {
    /// Takes a token as the plugin does.
    func enter(_ key: RateLimitPlugin.Key.Value, for context: PluginContext) async throws {
        if let pending = try admit(key, for: context) { try await wait(key, pending, for: context) }
    }
}
