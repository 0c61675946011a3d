// SPDX-License-Identifier: MIT

import PulseCore

/// Records the events of a plugin.
final class EventLog: EventSink {
    private let log = Locked<[NetworkEvent]>([])

    var isActive: Bool { true }
    var events: [NetworkEvent] { log.withLock { $0 } }

    /// The seconds of each `.rateLimited`, in order.
    var rateLimits: [TimeInterval?] {
        events.compactMap { event -> TimeInterval?? in
            guard case .rateLimited(_, let seconds) = event else { return nil }
            return .some(seconds)
        }
    }

    func emit(_ event: NetworkEvent) {
        log.withLock { $0.append(event) }
    }
}
