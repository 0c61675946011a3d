// SPDX-License-Identifier: MIT

/// Marks a plugin's own work that calls in progress wait for, such as a refresh. Its calls start although the client
/// closes: without them the calls in progress could not end.
package enum PluginWork {
    @TaskLocal private static var isRunning = false

    /// Whether the current code is part of such work, or in a task that it has started.
    package static var isCurrent: Bool { isRunning }

    package static func run<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        try await $isRunning.withValue(true) { try await body() }
    }
}
