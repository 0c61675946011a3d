// SPDX-License-Identifier: MIT

extension Task where Failure == any Error {
    // Inlined, and with the closure type of `Task`, so that the body is not wrapped in further closures: the bare call
    // in Docs/Benchmarks.md depends on it.
    /// Starts a task, on the caller's thread up to its first suspension where the system supports that. A hop to
    /// another thread and back would cost as much as the rest of a call.
    ///
    /// - Parameter priority: nil for the caller's priority.
    /// - Parameter once: always keep the default.
    @inlinable
    @inline(__always)
    package static func startingNow(
        priority: TaskPriority? = nil,
        once: Range<Int> = 0..<1,
        _ body: sending @escaping @isolated(any) () async throws -> Success
    ) -> Task {
        #if compiler(>=6.2)
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {  // newer: falls back to a plain task
            // The loop runs once, but the compiler must not know that. Then it inlines the system's function and sees
            // that there is no preferred executor. Otherwise each task gets a record for it, and every executor switch
            // in the task reads the record under a lock.
            //
            // Unchecked: passed on only once.
            nonisolated(unsafe) let body = body
            var task: Task?
            for _ in once { task = Task.immediate(priority: priority, operation: body) }
            if let task { return task }
        }
        #endif
        return Task(priority: priority, operation: body)
    }
}
