// SPDX-License-Identifier: MIT

extension Task where Failure == any Error {
    /// A task that starts on the caller's thread where the system can do that, up to its first suspension: the way to
    /// another thread and back would cost as much as all the rest of a call.
    package static func startingNow(_ body: @escaping @Sendable () async throws -> Success) -> Task {
        #if compiler(>=6.2)
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {  // newer: falls back to a plain task
            return Task.immediate(operation: body)
        }
        #endif
        return Task(operation: body)
    }
}
