// SPDX-License-Identifier: MIT

import PulseCore

/// The content of a recorder at one moment. A value, for a report, a HAR file or a list on a screen.
public struct PulseRecording: Sendable {
    /// The calls, oldest first; the newest may still be in progress.
    public let calls: [RecordedCall]
    /// The events that belong to no call, oldest first.
    public let events: [RecordedEvent]
    /// The number of calls ever recorded: those in ``calls`` and the dropped ones.
    public let recordedCallCount: Int
    /// The number of events ever recorded, including the dropped ones.
    public let recordedEventCount: Int

    /// Creates a recording of these calls and events. A count of nil means that nothing was dropped.
    public init(
        calls: [RecordedCall], events: [RecordedEvent] = [], recordedCallCount: Int? = nil,
        recordedEventCount: Int? = nil
    ) {
        self.calls = calls
        self.events = events
        self.recordedCallCount = recordedCallCount ?? calls.count
        self.recordedEventCount = recordedEventCount ?? events.count
    }

    /// The number of calls that were dropped to make room for later ones.
    public var droppedCallCount: Int { recordedCallCount - calls.count }
}
