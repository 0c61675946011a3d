// SPDX-License-Identifier: MIT

extension Task where Failure == any Error {
    // Inlined, and with the closure type that `Task` itself takes, so that the body is not wrapped in further closures.
    /// Starts a task, on the caller's thread up to its first suspension where the system can do that: a hop to another
    /// thread and back would cost as much as the rest of a call.
    ///
    /// - Parameter priority: nil for the caller's.
    /// - Parameter once: always left to its default.
    @inlinable
    @inline(__always)
    package static func startingNow(
        priority: TaskPriority? = nil,
        once: Range<Int> = 0..<1,
        _ body: sending @escaping @isolated(any) () async throws -> Success
    ) -> Task {
        #if compiler(>=6.2)
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {  // newer: falls back to a plain task
            // In a loop that must not be known to run once, the compiler inlines the system's function, and so learns
            // that no executor is preferred. Otherwise each task gets a record that says so, and every switch in it
            // looks there under a lock.
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
