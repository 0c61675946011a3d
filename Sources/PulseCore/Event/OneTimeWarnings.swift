// SPDX-License-Identifier: MIT

/// The warnings of one client that would repeat for every call: each is emitted once. A warning does not count as
/// emitted while the sink has no listener.
package final class OneTimeWarnings: Sendable {
    private let emitted = Locked<Set<String>>([])

    package init() {}

    package func emit(_ text: String, to events: (any EventSink)?) {
        guard let events, events.isActive, emitted.withLock({ $0.insert(text).inserted }) else { return }
        events.emit(.warning(text))
    }
}
