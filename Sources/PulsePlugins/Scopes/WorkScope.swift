// SPDX-License-Identifier: MIT

import PulseCore

/// Marks code that runs within a plugin's own work, a refresh or a recovery. Its calls must not wait for that work,
/// which waits for them.
final class WorkScope: Sendable {
    @TaskLocal private static var current: WorkScope?

    private let owner: any AnyObject & Sendable
    private let outer: WorkScope?
    /// False once the work has ended: a task that was started within it and outlives it is outside again.
    private let isOpen = Locked(true)

    private init(_ owner: any AnyObject & Sendable, within outer: WorkScope?) {
        self.owner = owner
        self.outer = outer
    }

    /// Whether the current code is part of this owner's work.
    static func isWithin(_ owner: any AnyObject & Sendable) -> Bool {
        contains { $0 === owner }
    }

    /// Whether the current code is part of the work of any owner of this type.
    static func isWithin<Owner: AnyObject>(any type: Owner.Type) -> Bool {
        contains { $0 is Owner }
    }

    /// Whether other calls may wait for the current code: it is part of a refresh or a recovery, or holds a permit. Its
    /// own calls must not wait for the request of another call, which may be waiting for it.
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

    /// The innermost open scope: a chain of tasks, each started within the previous one's work, does not retain closed
    /// scopes.
    private static var nearest: WorkScope? {
        var scope = current
        while let candidate = scope, !candidate.isOpen.withLock({ $0 }) { scope = candidate.outer }
        return scope
    }

    static func run<Value>(_ owner: any AnyObject & Sendable, _ body: () async throws -> Value) async rethrows -> Value
    {
        let scope = WorkScope(owner, within: nearest)
        defer { scope.isOpen.withLock { $0 = false } }
        return try await $current.withValue(scope) { try await CurrentWork.run(scope, body) }
    }
}

extension WorkScope: PluginWork {
    /// Whether this work or the work around it is still running.
    var isUnderWay: Bool { isOpen.withLock { $0 } || outer?.isUnderWay == true }
}
