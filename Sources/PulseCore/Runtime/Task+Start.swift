// SPDX-License-Identifier: MIT

extension Task where Failure == any Error {
    /// A task that starts on the caller's thread where the system can do that, up to its first suspension: the way to
    /// another thread and back would cost as much as all the rest of a call.
    ///
    /// - Parameter priority: the caller's if nil.
    // Inlinable, and of the type that `Task` itself takes: so the body is not wrapped into further closures.
    @inlinable
    package static func startingNow(
        priority: TaskPriority? = nil,
        _ body: sending @escaping @isolated(any) () async throws -> Success
    ) -> Task {
        #if compiler(>=6.2)
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {  // newer: falls back to a plain task
            return Task.immediate(priority: priority, operation: body)
        }
        #endif
        return Task(priority: priority, operation: body)
    }
}
