// SPDX-License-Identifier: MIT

import PulseCore

/// The content of a recorder at one moment: a value, for a report, a HAR file or a list on a screen.
public struct PulseRecording: Sendable {
    /// The calls, oldest first; the newest may still be under way.
    public let calls: [RecordedCall]
    /// What belongs to no call, oldest first.
    public let events: [RecordedEvent]
    /// The number of calls that were ever recorded: those in ``calls`` and those that made room for them.
    public let recordedCallCount: Int
    /// The number of events that were ever recorded, including those that made room for later ones.
    public let recordedEventCount: Int

    /// A recording of these calls and events. A count of nil means that nothing else was recorded.
    public init(
        calls: [RecordedCall], events: [RecordedEvent] = [], recordedCallCount: Int? = nil,
        recordedEventCount: Int? = nil
    ) {
        self.calls = calls
        self.events = events
        self.recordedCallCount = recordedCallCount ?? calls.count
        self.recordedEventCount = recordedEventCount ?? events.count
    }

    /// The number of calls that made room for later ones.
    public var droppedCallCount: Int { recordedCallCount - calls.count }
}
