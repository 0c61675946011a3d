// SPDX-License-Identifier: MIT

import PulseCore

/// The refusals that a call got from limiters on this side. Their error is that of a server's 429 but says nothing of
/// the server: a limiter further out must not take it for the server's wish.
final class LocalRefusals: Sendable {
    /// In the call's store.
    private enum Key: ContextKey {
        typealias Value = LocalRefusals
    }

    private let waits = Locked<[TimeInterval]>([])

    /// Notes an error that a limiter is about to throw.
    static func note(_ error: any Error, in context: PluginContext) {
        guard case .rateLimited(let seconds?) = error as? PulseError else { return }
        context.store.value(of: Key.self, orKeep: LocalRefusals()).waits.withLock { waits in
            // Attempts are few; where they are many this does not grow.
            waits = waits.suffix(15) + [seconds]
        }
    }

    /// Whether a failure is one that was noted.
    static func include(_ error: PulseError, in context: PluginContext) -> Bool {
        guard case .rateLimited(let seconds?) = error, let noted = context.store[Key.self] else { return false }
        return noted.waits.withLock { $0.contains(seconds) }
    }
}
