// SPDX-License-Identifier: MIT

public import PulseCore

/// A sink that writes events to a log.
///
/// ```swift
/// struct ConsoleOutput: EventLogSink.Output {
///     func write(_ record: EventLogSink.Record) { print(record.level, record.message) }
/// }
/// bus.addSink(EventLogSink(level: .warning, output: ConsoleOutput()))
/// ```
public final class EventLogSink: EventSink {
    private let level: PulseConfiguration.LogLevel
    private let output: any EventLogSink.Output

    /// Creates a sink that writes to an output.
    ///
    /// - Parameter level: failures only (`.error`), with retries and warnings (`.warning`), with the end of every call
    ///   (`.info`, the default), or with each step (`.debug`).
    public init(level: PulseConfiguration.LogLevel = .info, output: any EventLogSink.Output) {
        self.level = level
        self.output = output
    }

    public var isActive: Bool { level != .none }

    public func emit(_ event: NetworkEvent) {
        guard let (severity, text) = EventText.line(for: event), severity <= level else { return }
        output.write(
            Record(level: severity, message: EventText.shown(text), metadata: Self.metadata(of: event.call)))
    }

    private static func metadata(of call: NetworkEvent.CallSummary?) -> [String: String] {
        guard let call else { return [:] }
        var metadata = [
            "call": call.id.uuidString, "method": "\(call.method)", "host": SeriesName.shown(call.host),
            "route": SeriesName.shown(call.route), "attempt": "\(call.attempt)",
        ]
        metadata["trace"] = call.traceID.flatMap(SpanIdentifier.validTrace)
        return metadata
    }
}

extension EventLogSink {
    /// An output for events as log records: an adapter to a logging system such as swift-log.
    ///
    /// The code that emits an event calls it synchronously, on any thread and concurrently. It must be short, and wait
    /// for nothing but a lock.
    public protocol Output: Sendable {
        /// Writes one record.
        func write(_ record: EventLogSink.Record)
    }

    /// One event as a log line: without headers, query, body, secrets and control characters.
    public struct Record: Sendable {
        /// The severity of the event.
        public let level: PulseConfiguration.LogLevel
        /// The event as text: one line of at most 1000 bytes.
        public let message: String
        /// The parts of the message, for structured logs: `call`, `method`, `host`, `route`, `attempt`, `trace`, as far
        /// as the event has them.
        public let metadata: [String: String]
    }
}
