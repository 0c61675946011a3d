// SPDX-License-Identifier: MIT

import PulseCore

/// The calls under way, as a tracer sees them: a value that takes events and the time, and returns each call's trace at
/// its end.
struct OpenTraces: Sendable {
    private let maximum: Int
    /// The open calls. The one heard of least recently gives way: a call whose end is never heard, since the tracer was
    /// off the bus, must not stay for ever.
    private var open: LRUCache<UUID, OpenTrace>
    /// Calls that were under way with too many others, and have no trace.
    private(set) var untracedCount = 0

    init(maximum: Int) {
        self.maximum = max(1, maximum)
        open = LRUCache(capacity: .max)
    }

    /// Applies an event. A call whose start was not heard has no trace. Work that is detached from a call counts for
    /// that call.
    mutating func apply(_ event: NetworkEvent, now: @autoclosure () -> Date, uptime: TimeInterval) -> CallTrace? {
        switch event {
        case .requestStarted(let call): begin(call.rootID, OpenTrace(start: now(), uptime: uptime))
        case .requestCompleted(let result, let call, _):
            return open.removeValue(for: call.rootID)?.closed(call, result, at: uptime)
        // As many as there are chunks.
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
