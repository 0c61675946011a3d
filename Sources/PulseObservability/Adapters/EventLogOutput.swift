// SPDX-License-Identifier: MIT

public import PulseCore

/// An output for what events say: an adapter to a logging system such as swift-log.
///
/// Called in place by the code that an event tells about, on any thread and concurrently: it must be short and wait for
/// nothing but a lock.
public protocol EventLogOutput: Sendable {
    /// Takes one record, in place.
    func write(_ record: EventLogRecord)
}

/// One event as a line for a log: without headers, query, body, secrets and control characters.
public struct EventLogRecord: Sendable {
    /// How severe the event is.
    public let level: PulseConfiguration.LogLevel
    /// The event as text: on one line, of at most 1000 bytes.
    public let message: String
    /// The parts of the message, for logs that can be searched: `call`, `method`, `host`, `route`, `attempt`, `trace`,
    /// as far as the event has them.
    public let metadata: [String: String]
}

/// A sink that writes events to a log.
public final class EventLogSink: EventSink {
    private let level: PulseConfiguration.LogLevel
    private let output: any EventLogOutput

    /// A sink that writes to that output.
    ///
    /// - Parameter level: writes how calls end (`.info`, the default), failures only (`.error`), with retries and
    ///   warnings (`.warning`), or each step (`.debug`).
    public init(level: PulseConfiguration.LogLevel = .info, output: any EventLogOutput) {
        self.level = level
        self.output = output
    }

    public var isActive: Bool { level != .none }

    public func emit(_ event: NetworkEvent) {
        guard let (severity, text) = EventText.line(for: event), severity <= level else { return }
        output.write(
            EventLogRecord(level: severity, message: EventText.shown(text), metadata: Self.metadata(of: event.call)))
    }

    private static func metadata(of call: CallSummary?) -> [String: String] {
        guard let call else { return [:] }
        var metadata = [
            "call": call.id.uuidString, "method": "\(call.method)", "host": SeriesName.shown(call.host),
            "route": SeriesName.shown(call.route), "attempt": "\(call.attempt)",
        ]
        metadata["trace"] = call.traceID.flatMap(SpanIdentifier.validTrace)
        return metadata
    }
}
