// SPDX-License-Identifier: MIT

import PulseCore

/// Tells the code that runs within a refresh from all other: its calls must not wait for that refresh, which waits for
/// them.
final class RefreshScope: Sendable {
    @TaskLocal private static var current: RefreshScope?

    private let refresh: TokenRefresh
    private let outer: RefreshScope?
    /// A task that was begun within the refresh and outlives it is outside again.
    private let isOpen = Locked(true)

    private init(_ refresh: TokenRefresh, within outer: RefreshScope?) {
        self.refresh = refresh
        self.outer = outer
    }

    /// Whether the running code is part of a refresh by that one.
    static func isWithin(_ refresh: TokenRefresh) -> Bool {
        var scope = current
        while let candidate = scope {
            if candidate.refresh === refresh, candidate.isOpen.withLock({ $0 }) { return true }
            scope = candidate.outer
        }
        return false
    }

    static func run(_ refresh: TokenRefresh, _ body: () async -> Void) async {
        let scope = RefreshScope(refresh, within: current)
        await $current.withValue(scope) { await body() }
        scope.isOpen.withLock { $0 = false }
    }
}
