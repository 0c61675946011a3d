// SPDX-License-Identifier: MIT

public import PulseCore
package import PulseObservability

/// What the console shows at one moment: a pure function of a recording and a filter.
public struct ConsoleContent: Sendable, Hashable {
    /// The calls that pass the filter, newest first.
    public let rows: [ConsoleRow]
    /// The totals of ``rows``.
    public let totals: ConsoleTotals
    /// The methods to filter by, sorted: those of all recorded calls, and the filter's.
    public let methods: [HTTPMethod]
    /// The hosts to filter by, sorted: those of all recorded calls, and the filter's.
    public let hosts: [String]
    /// What the recording lacks, and why.
    public let notices: [ConsoleNotice]

    /// The content for a recording under a filter. Its cost is proportional to the text that the filter searches.
    package init(_ recording: PulseRecording, filter: ConsoleFilter = ConsoleFilter()) {
        rows = filter.calls(of: recording).reversed().map(ConsoleRow.init)
        totals = ConsoleTotals(rows, recorded: recording.calls.count)
        methods = Set(recording.calls.map(\.method)).union(filter.method.map { [$0] } ?? [])
            .sorted { $0.rawValue < $1.rawValue }
        hosts = Set(recording.calls.map(\.host)).union(filter.host.map { [$0] } ?? []).sorted()
        notices = ConsoleNotice.notices(of: recording)
    }
}
