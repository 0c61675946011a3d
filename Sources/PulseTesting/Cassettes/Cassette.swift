// SPDX-License-Identifier: MIT

public import PulseCore
package import PulseObservability

/// Requests and their answers as a HAR 1.2 file: recorded by a ``CassetteRecorder``, a `PulseRecorder`, a browser or a proxy,
/// and played by a ``CassettePlayer``.
///
/// ```swift
/// let recorder = CassetteRecorder(around: CurlTransport())
/// …                                                            // once, against the real server
/// try recorder.cassette.write(to: file)
///
/// let player = CassettePlayer(try Cassette(contentsOf: file))  // ever after, without it
/// let client = PulseClient(configuration: configuration, transport: player)
/// ```
public struct Cassette: Sendable {
    package let document: HARDocument

    /// A file's content. Throws ``PulseError/decodingFailed(type:underlying:)`` for what is no HAR.
    public init(har: Data) throws {
        document = try HARDocument(json: har)
    }

    /// Throws ``PulseError/custom(_:)`` over what the file system says, and what ``init(har:)`` throws.
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

    /// How many requests are on it.
    public var count: Int { document.log.entries.count }

    /// The file's content: UTF-8, keys sorted, so that a version control shows what changed.
    public var har: Data { document.json }

    /// Writes the file, whole or not at all. Throws ``PulseError/custom(_:)`` over what the file system says.
    public func write(to file: URL) throws {
        do {
            try har.write(to: file, options: .atomic)
        } catch {
            throw PulseError(wrapping: error)
        }
    }
}
