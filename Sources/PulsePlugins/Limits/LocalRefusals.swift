// SPDX-License-Identifier: MIT

import PulseCore

/// The rejections by the client's own limiters in a call. Their error is that of a server's 429, so an outer limiter
/// must not mistake it for a response of the server.
final class LocalRefusals: Sendable {
    /// The key in the call's store.
    private enum Key: PluginContext.Key {
        typealias Value = LocalRefusals
    }

    private let waits = Locked<[TimeInterval]>([])

    /// Records an error that a limiter is about to throw.
    static func note(_ error: any Error, in context: PluginContext) {
        guard case .rateLimited(let seconds?) = error as? PulseError else { return }
        context.store.value(of: Key.self, orKeep: LocalRefusals()).waits.withLock { waits in
            // Bounds the list, since a call may have many attempts.
            waits = waits.suffix(15) + [seconds]
        }
    }

    /// Whether a failure was recorded.
    static func include(_ error: PulseError, in context: PluginContext) -> Bool {
        guard case .rateLimited(let seconds?) = error, let noted = context.store[Key.self] else { return false }
        return noted.waits.withLock { $0.contains(seconds) }
    }
}
