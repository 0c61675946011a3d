// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// Describes the bytes of a partial file, without URL and header fields, since those may hold secrets.
struct PartialState: Sendable, Equatable, Codable {
    /// The digest of the name of the content.
    var key: String?
    /// The digest of the account that the bytes were sent to; nil if no plugin knows one.
    var account: String?
    var content: DownloadedContent
    /// Number of synced bytes.
    var length: Int64

    init(key: String?, account: String?, content: DownloadedContent, length: Int64 = 0) {
        (self.key, self.account, self.content, self.length) = (key, account, content, length)
    }

    /// The file of a state, which is JSON.
    static func file(_ path: String, using disk: Disk) -> SealedFile {
        SealedFile(path, format: "pulse-download 1", using: disk)
    }

    /// The state in that file; nil if there is none, or none that can be read.
    static func read(_ path: String, using disk: Disk) -> PartialState? {
        guard let content = try? file(path, using: disk).read(limit: 64 << 10) else { return nil }
        return try? JSONDecoder().decode(PartialState.self, from: content)
    }

    /// Replaces the state in that file atomically.
    ///
    /// - Parameter isFirst: whether there is none yet. An earlier state will do after a power failure.
    func write(_ path: String, isFirst: Bool = true, using disk: Disk) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        try Self.file(path, using: disk).write(encoder.encode(self), syncsName: isFirst)
    }
}
