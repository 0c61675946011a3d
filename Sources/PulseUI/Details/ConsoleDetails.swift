// SPDX-License-Identifier: MIT

package import PulseCore
package import PulseObservability

/// The details of a call: its facts, its waterfall, its events, and its requests.
package struct ConsoleDetails: Sendable, Identifiable {
    /// The call as a row.
    package let row: ConsoleRow
    /// The facts of the call: route, host, times, error, trace.
    package let facts: [ConsoleField]
    /// The time of the call as bars on one timeline.
    package let chart: WaterfallChart
    /// The events between the requests and those of a socket, each with its time from the start of the call.
    package let marks: [ConsoleField]
    /// The requests, in the order of their start.
    package let requests: [ConsoleRequest]
    /// What is missing, and why; nil if nothing is.
    package let note: String?

    /// The call's id.
    package var id: UUID { row.id }

    /// Creates the details of a call, with times in the given zone, the user's by default.
    package init(_ call: PulseRecording.Call, in zone: TimeZone = .current) {
        row = ConsoleRow(call)
        let error: PulseError.Summary? = if case .failure(let failure)? = call.outcome { failure } else { nil }
        facts = ConsoleField.list([
            ("Method", call.method.rawValue), ("Host", call.host), ("Path", row.path), ("Route", call.route),
            ("Started", ConsoleText.time(call.startedAt, in: zone)),
            ("Duration", row.duration.map { ConsoleText.duration($0) } ?? "running"),
            ("Status", call.statusCode.map { "\($0)" }), ("Error", error.map { "\($0.kind.rawValue): \($0.message)" }),
            ("Size", row.byteCount.map { ConsoleText.size($0) }), ("Source", call.origin?.rawValue),
            ("Trace", call.traceID), ("Call", call.id.uuidString),
        ])
        chart = call.chart
        marks = ConsoleField.list(call.marks.map { ($0.kind.rawValue, $0.text) })
        requests = call.exchanges.map(ConsoleRequest.init)
        note = Self.note(on: call)
    }

    private static func note(on call: PulseRecording.Call) -> String? {
        if call.omittedExchangeCount > 0 {
            return "\(LogText.count(call.omittedExchangeCount, "request")) in the middle made room for later ones."
        }
        guard call.exchanges.isEmpty else { return nil }
        return call.hasNetworkResponse
            ? "No request of this call is recorded. \(ConsoleNotice.remedy)" : "No request is recorded."
    }
}

extension WaterfallChart.Line {
    /// A colored part of a line, or without a phase the whole line.
    struct Segment: Identifiable {
        let id: Int
        let phase: MetricsSnapshot.Phase?
        let bar: WaterfallChart.Bar
    }

    /// The phases of the line, or the line itself where nothing was measured.
    var segments: [Segment] {
        phases.isEmpty
            ? [Segment(id: 0, phase: nil, bar: bar)]
            : phases.enumerated().map { Segment(id: $0, phase: $1.phase, bar: $1.bar) }
    }

    /// `attempt 1: 503`.
    var text: String { title + (detail.isEmpty ? "" : ": " + detail) }

    /// The duration, or the moment of an event: `+64.0 ms`.
    var timeText: String { (kind == .mark ? "+" : "") + ConsoleText.duration(time) }
}

extension PulseRecording.Call.Mark {
    /// `+64.0 ms, waits 500 ms: service unavailable`.
    fileprivate var text: String {
        "+" + ConsoleText.duration(offset) + (wait.map { ", waits " + ConsoleText.duration($0) } ?? "")
            + (detail.map { ": " + $0 } ?? "")
    }
}
