// SPDX-License-Identifier: MIT

import PulseCore

/// The open calls of a tracer. A value that receives events and the time, and returns each call's trace at its end.
struct OpenTraces: Sendable {
    private let maximum: Int
    /// The open calls. The one with the oldest last event is evicted: a call whose end was missed, since the tracer was
    /// not attached, must not stay forever.
    private var open: LRUCache<UUID, OpenTrace>
    /// The number of calls that were evicted because too many were open. They have no trace.
    private(set) var untracedCount = 0

    init(maximum: Int) {
        self.maximum = max(1, maximum)
        open = LRUCache(capacity: .max)
    }

    /// Applies an event. A call whose start was missed has no trace. Detached work of a call counts for that call.
    mutating func apply(_ event: NetworkEvent, now: @autoclosure () -> Date, uptime: TimeInterval) -> CallTrace? {
        switch event {
        case .requestStarted(let call): begin(call.rootID, OpenTrace(start: now(), uptime: uptime))
        case .requestCompleted(let result, let call, _):
            return open.removeValue(for: call.rootID)?.closed(call, result, at: uptime)
        // Too frequent: up to ten a second.
        case .transferProgress: break
        default:
            if let id = event.call?.rootID { open.withValue(for: id) { $0.apply(event, at: uptime) } }
        }
        return nil
    }

    private mutating func begin(_ id: UUID, _ trace: OpenTrace) {
        open.removeValue(for: id)
        if open.count == maximum, open.removeLeastRecentlyUsed() != nil { untracedCount += 1 }
        open.withValue(for: id, default: trace) { _ in }
    }
}
