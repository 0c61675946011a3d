// SPDX-License-Identifier: MIT

package import PulseCore

/// The time of a call as lines, each with a bar on one timeline. ``PulseRecording/Call/waterfall(width:)``, the
/// report's page and the console draw it.
package struct WaterfallChart: Sendable, Hashable {
    /// A part of the timeline, as fractions of its length: from 0 to 1.
    package struct Bar: Sendable, Hashable {
        /// Where the bar begins.
        package let start: Double
        /// Where it ends; at least ``start``.
        package let end: Double
    }

    /// A phase of a request, as a part of its line.
    package struct Phase: Sendable, Hashable {
        /// The phase.
        package let phase: MetricsSnapshot.Phase
        /// Its part of the timeline.
        package let bar: Bar
        /// Its duration in seconds.
        package let duration: TimeInterval
    }

    /// A line of the chart.
    package struct Line: Sendable, Hashable, Identifiable {
        /// The kind of a line.
        package enum Kind: String, Sendable, Hashable {
            /// The whole call: the first line.
            case call
            /// A request of the call.
            case request
            /// An event at one moment, or a wait.
            case mark
        }

        /// The number of the line, counted from 0.
        package let id: Int
        /// The kind of the line.
        package let kind: Kind
        /// The name: of the call, the attempt or the event.
        package let title: String
        /// The outcome of a call or a request, or the reason for an event; may be empty.
        package let detail: String
        /// The part of the timeline. That of an event without a wait has no length.
        package let bar: Bar
        /// The duration in seconds; of an event, its time from the start of the call.
        package let time: TimeInterval
        /// The phases of a request, if the transport measured them.
        package let phases: [Phase]
    }

    /// The length of the timeline in seconds.
    package let duration: TimeInterval
    /// The lines: the call, then its requests and events in the order of their start.
    package private(set) var lines: [Line] = []
    /// The number of omitted lines, as text; nil if there are none.
    package internal(set) var omission: String?

    init(duration: TimeInterval) {
        self.duration = duration
    }

    mutating func add(
        _ kind: Line.Kind, _ title: String, _ detail: String, from start: TimeInterval, for seconds: TimeInterval,
        phases: [PhaseTiming] = []
    ) {
        let parts = phases.filter { $0.duration > 0 }.map { phase in
            Phase(phase: phase.phase, bar: bar(start + phase.start, phase.duration), duration: phase.duration)
        }
        lines.append(
            Line(
                id: lines.count, kind: kind, title: title, detail: detail, bar: bar(start, seconds),
                time: kind == .mark ? start : seconds, phases: parts))
    }

    typealias Part = (start: TimeInterval, add: (inout WaterfallChart) -> Void)

    /// Adds parts in the order of their start.
    mutating func add(_ parts: [Part]) {
        let inOrder = parts.enumerated().sorted { ($0.element.start, $0.offset) < ($1.element.start, $1.offset) }
        for part in inOrder { part.element.add(&self) }
    }

    private func bar(_ start: TimeInterval, _ seconds: TimeInterval) -> Bar {
        let first = fraction(start)
        return Bar(start: first, end: max(first, fraction(start + seconds)))
    }

    private func fraction(_ time: TimeInterval) -> Double {
        duration > 0 && time > 0 ? min(time / duration, 1) : 0
    }
}
