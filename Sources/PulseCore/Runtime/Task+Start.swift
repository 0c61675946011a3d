// SPDX-License-Identifier: MIT

extension Task where Failure == any Error {
    /// A task that starts on the caller's thread where the system can do that, up to its first suspension: the way to
    /// another thread and back would cost as much as all the rest of a call.
    ///
    /// - Parameter priority: the caller's if nil.
    /// - Parameter once: left to its default.
    // Inlined, and of the type that `Task` itself takes: so the body is not wrapped into further closures.
    @inlinable
    @inline(__always)
    package static func startingNow(
        priority: TaskPriority? = nil,
        once: Range<Int> = 0..<1,
        _ body: sending @escaping @isolated(any) () async throws -> Success
    ) -> Task {
        #if compiler(>=6.2)
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {  // newer: falls back to a plain task
            // In a loop, which must not be known as one round before, the compiler inlines the system's function, and so
            // learns that no executor is preferred. Else each task gets a record which says that, and every switch in it
            // looks there under a lock.
            // Unchecked: handed on once.
            nonisolated(unsafe) let body = body
            var task: Task?
            for _ in once { task = Task.immediate(priority: priority, operation: body) }
            if let task { return task }
        }
        #endif
        return Task(priority: priority, operation: body)
    }
}
