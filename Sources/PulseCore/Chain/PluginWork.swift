// SPDX-License-Identifier: MIT

/// Work that calls in progress wait for: the work of a call's plugins, or a plugin's own, such as a token refresh. The
/// calls that it makes start even while the client closes: without them the calls in progress could not end.
package protocol PluginWork: AnyObject, Sendable {
    /// False once the work has ended: a task that was started within it may outlive it.
    var isUnderWay: Bool { get }
}

/// The innermost work that the current code is part of.
package enum CurrentWork {
    @TaskLocal private static var work: (any PluginWork)?

    package static var isUnderWay: Bool { work?.isUnderWay == true }

    package static func run<Value>(_ work: any PluginWork, _ body: () async throws -> Value) async rethrows -> Value {
        try await $work.withValue(work) { try await body() }
    }
}

extension Call: PluginWork {
    package var isUnderWay: Bool { !isComplete }
}
