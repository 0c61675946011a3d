// SPDX-License-Identifier: MIT

public import PulseCore

/// A recording as one self-contained HTML file: for a colleague, a bug report, a build's artifacts.
///
/// It lists the calls with a filter and a search, and shows each with its requests, bodies and a waterfall. It draws
/// latencies, percentiles over time, statuses, errors, breakers and the offline queue. It opens from the disk, loads
/// nothing, fits a phone, and follows the reader's light or dark mode. The content of URLs, headers and bodies is
/// always shown as text.
///
/// ```swift
/// let report = PulseReport(recorder.recording(), title: "Checkout, build 512")
/// try report.write(to: URL(fileURLWithPath: "report.html"))
/// ```
public struct PulseReport: Sendable {
    private let recording: PulseRecording
    private let title: String

    /// Creates a report of a recording.
    ///
    /// - Parameter title: the page's heading; `PulseKit` by default.
    public init(_ recording: PulseRecording, title: String = "PulseKit") {
        self.recording = recording
        self.title = title
    }

    /// The whole page. Creating it takes time and memory in proportion to the recording.
    public var html: String {
        let data = ScriptJSON.text(of: ReportData(recording, title: title))
        let name = ReportPage.escaped(title)
        return ReportPage.head(title: name) + ReportPage.style + ReportPage.body(title: name) + data
            + ReportPage.betweenDataAndScript + ReportPage.script + ReportPage.end
    }

    /// Writes the page to a file that only its user may read, atomically. Throws ``PulseError/custom(_:)`` with the
    /// file system's error.
    public func write(to file: URL) throws {
        do {
            try PrivateFile.write(Data(html.utf8), to: file)
        } catch {
            throw PulseError(wrapping: error)
        }
    }
}
