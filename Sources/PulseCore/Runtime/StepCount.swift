// SPDX-License-Identifier: MIT

/// Counts the steps of a loop over untrusted data, so that tests can compare costs without a clock.
///
/// Debug builds count, and only within ``taken(by:)``. In release builds ``add(_:)`` is empty.
package enum StepCount {
    #if DEBUG
    @usableFromInline
    final class Counter: Sendable {
        let steps = Locked(0)
    }

    @TaskLocal @usableFromInline static var counter: Counter?

    /// The number of steps that the closure takes on this thread.
    package static func taken(by body: () throws -> Void) rethrows -> Int {
        let counter = Counter()
        try $counter.withValue(counter, operation: body)
        return counter.steps.withLock { $0 }
    }

    @usableFromInline
    static func count(_ steps: Int) {
        counter?.steps.withLock { $0 += steps }
    }
    #endif

    @inlinable
    package static func add(_ steps: Int = 1) {
        #if DEBUG
        count(steps)
        #endif
    }
}
