// SPDX-License-Identifier: MIT

import PulseCore

/// What a recorder had at one moment: a value, for a report, a HAR file or a list on a screen.
public struct PulseRecording: Sendable {
    /// Oldest first; the newest may still be under way.
    public let calls: [RecordedCall]
    /// Oldest first.
    public let events: [RecordedEvent]
    /// Of all calls that were ever recorded: those in ``calls`` and those that went to make room.
    public let recordedCallCount: Int
    /// Of all events that were ever recorded.
    public let recordedEventCount: Int

    public init(
        calls: [RecordedCall], events: [RecordedEvent] = [], recordedCallCount: Int? = nil,
        recordedEventCount: Int? = nil
    ) {
        self.calls = calls
        self.events = events
        self.recordedCallCount = recordedCallCount ?? calls.count
        self.recordedEventCount = recordedEventCount ?? events.count
    }

    /// Calls that went to make room for later ones.
    public var droppedCallCount: Int { recordedCallCount - calls.count }
}
