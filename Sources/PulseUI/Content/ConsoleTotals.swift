// SPDX-License-Identifier: MIT

public import PulseCore
import PulseObservability

/// The totals of the calls that the console shows.
public struct ConsoleTotals: Sendable, Hashable {
    /// The number of shown calls.
    public let shown: Int
    /// The number of recorded calls, including those that the filter hides.
    public let recorded: Int
    /// The number of shown calls in progress.
    public let running: Int
    /// The number of shown calls that failed; cancelled ones do not count.
    public let failed: Int
    /// The bytes of the responses' bodies.
    public let byteCount: Int64
    /// The duration that half of the ended calls did not exceed, in seconds; nil without ended calls.
    public let medianDuration: TimeInterval?

    init(_ rows: [ConsoleRow], recorded: Int) {
        shown = rows.count
        self.recorded = recorded
        running = rows.count { $0.outcome == .running }
        failed = rows.count { $0.outcome == .failed }
        byteCount = rows.reduce(0) { sum, row in
            let (total, overflows) = sum.addingReportingOverflow(max(0, row.byteCount ?? 0))
            return overflows ? .max : total
        }
        let durations = rows.compactMap(\.duration).map(\.finite).sorted()
        medianDuration = durations.isEmpty ? nil : durations[(durations.count - 1) / 2]
    }

    /// The totals on one line: `12 of 340 calls, 2 failed, 1.20 MB, median 120 ms`.
    public var summary: String {
        let calls = LogText.count(recorded, "call")
        var parts = [shown == recorded ? calls : "\(shown) of \(calls)"]
        if running > 0 { parts.append("\(running) running") }
        if failed > 0 { parts.append("\(failed) failed") }
        if byteCount > 0 { parts.append(ConsoleText.size(byteCount)) }
        if let medianDuration { parts.append("median " + ConsoleText.duration(medianDuration)) }
        return parts.joined(separator: ", ")
    }
}
