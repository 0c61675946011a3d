// SPDX-License-Identifier: MIT

public import PulseCore
package import PulseObservability

/// Requests and their responses as a HAR 1.2 file: recorded by a ``CassetteRecorder``, a `PulseRecorder`, a browser or
/// a proxy, and played by a ``CassettePlayer``.
///
/// ```swift
/// let recorder = CassetteRecorder(around: StandardTransport())
/// …                                                            // once, against the real server
/// try recorder.cassette.write(to: file)
///
/// let player = CassettePlayer(try Cassette(contentsOf: file))  // from then on, without it
/// let client = PulseClient(configuration: configuration, transport: player)
/// ```
public struct Cassette: Sendable {
    package let document: HARDocument

    /// Parses a HAR file as far as possible: see ``warnings``. Throws ``PulseError/decodingFailed(type:underlying:)``
    /// if the data is not a HAR file.
    public init(har: Data) throws {
        document = try HARDocument(json: har)
    }

    /// Reads a cassette from a HAR file. Throws ``PulseError/custom(_:)`` with the file system's error, and the errors
    /// of ``init(har:)``.
    public init(contentsOf file: URL) throws {
        let data: Data
        do {
            data = try Data(contentsOf: file)
        } catch {
            throw PulseError(wrapping: error)
        }
        try self.init(har: data)
    }

    package init(_ document: HARDocument) {
        self.document = document
    }

    /// The entries that can be played. Cancelled and unfinished requests have no outcome.
    var playableEntries: [HARDocument.Entry] {
        document.log.entries.filter { entry in
            let wasCancelled = entry._error?.kind == PulseError.Kind.cancelled.rawValue
            return entry.response.status > 0 || !wasCancelled && entry.comment != HARDocument.underWay
        }
    }

    /// The anomalies in the file that the cassette was read from, such as an entry without a response or a header
    /// without a value. Each names its entry, counted from 1. Browsers and proxies write HAR differently, so a file is
    /// read as far as possible. No warning contains a value from the file.
    public var warnings: [String] { document.warnings.map(\.description) }

    /// The number of recorded requests.
    public var count: Int { document.log.entries.count }

    /// The cassette as a HAR file: UTF-8 with sorted keys, for readable diffs in version control.
    public var har: Data { document.json }

    /// Writes the HAR file atomically. Throws ``PulseError/custom(_:)`` with the file system's error.
    public func write(to file: URL) throws {
        do {
            try har.write(to: file, options: .atomic)
        } catch {
            throw PulseError(wrapping: error)
        }
    }
}
