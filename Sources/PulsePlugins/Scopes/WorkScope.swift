// SPDX-License-Identifier: MIT

import PulseCore

/// Tells code that runs within a plugin's own work, a refresh or a recovery, from all other code: its calls must not
/// wait for that work, which waits for them.
final class WorkScope: Sendable {
    @TaskLocal private static var current: WorkScope?

    private let owner: any AnyObject & Sendable
    private let outer: WorkScope?
    /// False once the work has ended: a task that was begun within it and outlives it is outside again.
    private let isOpen = Locked(true)

    private init(_ owner: any AnyObject & Sendable, within outer: WorkScope?) {
        self.owner = owner
        self.outer = outer
    }

    /// Whether the running code is part of that owner's work.
    static func isWithin(_ owner: any AnyObject & Sendable) -> Bool {
        contains { $0 === owner }
    }

    /// Whether it is part of the work of any owner of that type.
    static func isWithin<Owner: AnyObject>(any type: Owner.Type) -> Bool {
        contains { $0 is Owner }
    }

    /// Whether other calls may wait for the running code, which is part of a refresh or a recovery, or holds a permit:
    /// its own calls must not wait for the request of another one, which may be among them.
    static var mayBlockOtherCalls: Bool {
        contains { $0 is Recoverer || $0 is TokenRefresh } || HeldPermit.isWithinAny
    }

    private static func contains(_ matches: (any AnyObject & Sendable) -> Bool) -> Bool {
        var scope = nearest
        while let candidate = scope {
            if matches(candidate.owner), candidate.isOpen.withLock({ $0 }) { return true }
            scope = candidate.outer
        }
        return false
    }

    /// The innermost one that is open: a chain of tasks, each begun within the work of the one before, keeps no others.
    private static var nearest: WorkScope? {
        var scope = current
        while let candidate = scope, !candidate.isOpen.withLock({ $0 }) { scope = candidate.outer }
        return scope
    }

    static func run<Value>(_ owner: any AnyObject & Sendable, _ body: () async throws -> Value) async rethrows -> Value
    {
        let scope = WorkScope(owner, within: nearest)
        defer { scope.isOpen.withLock { $0 = false } }
        return try await $current.withValue(scope) { try await body() }
    }
}
