// SPDX-License-Identifier: MIT

public import PulseCore
import PulseObservability

/// Calls of the console in a format for other programs, secrets masked.
public struct ConsoleExport: Sendable, Hashable {
    /// The format of an export.
    public enum Format: String, Sendable, Hashable, CaseIterable, Identifiable {
        /// HTTP Archive 1.2, for browsers and proxies.
        case har
        /// The report: one HTML file.
        case html
        /// The requests as curl commands.
        case curl

        /// The format itself.
        public var id: Self { self }

        /// The name of the format on a button.
        public var title: String {
            switch self {
            case .har: "HAR file"
            case .html: "HTML report"
            case .curl: "cURL commands"
            }
        }

        fileprivate var fileExtension: String { self == .curl ? "sh" : rawValue }
    }

    /// A name for the file, with the time of the export in UTC: `pulse-20260101-000000.har`.
    public let fileName: String
    /// The content of the file.
    public let data: Data

    init(_ format: Format, of recording: PulseRecording, at date: Date) {
        let time = ConsoleText.time(date, in: TimeZone(secondsFromGMT: 0) ?? .current)
            .replacingOccurrences(of: " ", with: "-").filter { $0.isASCII && ($0.isNumber || $0 == "-") }
        let parts = time.split(separator: "-")
        fileName = "pulse-\(parts.prefix(3).joined())-\(parts.dropFirst(3).joined()).\(format.fileExtension)"
        data =
            switch format {
            case .har: recording.har()
            case .html: Data(PulseReport(recording, title: "Network calls").html.utf8)
            case .curl: Data(recording.curl().utf8)
            }
    }

    /// Writes the file, replacing an older one of the same name, and returns its URL.
    ///
    /// - Parameter folder: nil for a new one in the system's temporary folder.
    func write(to folder: URL?) throws -> URL {
        do {
            let folder = try folder ?? PrivateFile.makeTemporaryFolder()
            let file = folder.appendingPathComponent(fileName)
            try PrivateFile.write(data, to: file)
            return file
        } catch {
            throw PulseError(wrapping: error)
        }
    }
}
