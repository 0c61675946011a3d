// SPDX-License-Identifier: MIT

import PulseCore

/// A warning about a plugin's settings, emitted once, since it would be the same for every call. Without a listener it
/// is not emitted yet.
struct OneWarning: Sendable {
    private let text: String
    private let hasEmitted = Locked(false)

    init(_ text: String) {
        self.text = text
    }

    func emit(in context: PluginContext) {
        guard context.call.environment.events?.isActive == true else { return }
        let isFirst = hasEmitted.withLock { hasEmitted in
            defer { hasEmitted = true }
            return !hasEmitted
        }
        if isFirst { context.emit(.warning(text)) }
    }
}
