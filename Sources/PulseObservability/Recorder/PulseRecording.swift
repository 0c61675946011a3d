// SPDX-License-Identifier: MIT

public import PulseCore

/// The content of a recorder at one moment. A value, for a report, a HAR file or a list on a screen.
public struct PulseRecording: Sendable {
    /// The calls, oldest first; the newest may still be in progress.
    public let calls: [Call]
    /// The events that belong to no call, oldest first.
    package let events: [RecordedEvent]
    /// The number of calls ever recorded: those in ``calls`` and the dropped ones.
    public let recordedCallCount: Int
    /// The number of events ever recorded, including the dropped ones.
    package let recordedEventCount: Int

    /// When the recorder began, or was last cleared: earlier calls are missing. Nil if it is unknown.
    public let since: Date?

    /// Creates a recording of these calls only, for example of a selection for a report.
    public init(calls: [Call]) {
        self.init(calls: calls, events: [])
    }

    /// Creates a recording of these calls and events. A count of nil means that nothing was dropped.
    package init(
        calls: [Call], events: [RecordedEvent] = [], recordedCallCount: Int? = nil,
        recordedEventCount: Int? = nil, since: Date? = nil
    ) {
        self.calls = calls
        self.events = events
        self.recordedCallCount = recordedCallCount ?? calls.count
        self.recordedEventCount = recordedEventCount ?? events.count
        self.since = since
    }

    /// The number of calls that were dropped to make room for later ones.
    public var droppedCallCount: Int { recordedCallCount - calls.count }
}

extension PulseRecording {
    /// The requests of all calls as curl commands, oldest first, each call under a comment with its outcome. Secrets
    /// are masked. Identical requests of a call, such as its retries, are one command.
    public func curl() -> String {
        calls.map { call in
            var known: Set<String> = []
            let commands = call.exchanges.map(\.curlCommand).filter { !$0.isEmpty && known.insert($0).inserted }
            let title = EventText.title(call.method, call.host, call.endpointPath)
            let note = commands.isEmpty ? ["# No request is recorded."] : []
            return (["# \(title): \(EventText.ending(call.outcome))"] + note + commands).joined(separator: "\n") + "\n"
        }
        .joined(separator: "\n")
    }
}
