// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// What the bytes of a partial file are: no URL and no header, since those may hold secrets.
struct PartialState: Sendable, Equatable, Codable {
    /// The digest of the name of the content.
    var key: String?
    /// The digest of the account that the bytes were sent to; nil if no plugin knows one.
    var account: String?
    var content: DownloadedContent
    /// The bytes that are synced.
    var length: Int64

    private static let version = 1
    private static let limit = 64 << 10

    /// One line with the version and the checksum, and then JSON.
    var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let body = (try? encoder.encode(self)) ?? Data()
        return Array("pulse-download \(Self.version) \(Self.checksum(body))\n".utf8) + body
    }

    /// Nil if the bytes are not exactly those of a state of this version.
    init?(_ bytes: [UInt8]) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let body = Data(bytes[(end + 1)...])
        guard String(decoding: bytes[..<end], as: UTF8.self) == "pulse-download \(Self.version) \(Self.checksum(body))",
            let state = try? JSONDecoder().decode(PartialState.self, from: body)
        else { return nil }
        self = state
    }

    init(key: String?, account: String?, content: DownloadedContent, length: Int64 = 0) {
        (self.key, self.account, self.content, self.length) = (key, account, content, length)
    }

    private static func checksum(_ body: Data) -> String {
        String(body.withUnsafeBytes { Checksum.of($0) }, radix: 16)
    }

    /// The state in that file; nil if there is none, or none that can be read.
    static func read(_ path: String, using disk: Disk) -> PartialState? {
        guard let file = try? SystemFile.open(path, O_RDONLY, using: disk) else { return nil }
        defer { _ = SystemFile.close(file) }
        guard let bytes = try? SystemFile.read(file, from: 0, count: limit) else { return nil }
        return PartialState(bytes)
    }

    /// The file that a new state is written to.
    static func next(_ path: String) -> String { path + "-new" }

    /// Replaces the state in that file at once.
    func write(_ path: String, using disk: Disk) throws {
        let next = Self.next(path)
        let file = try SystemFile.create(next, using: disk)
        defer { _ = SystemFile.close(file) }
        try bytes.withUnsafeBytes { try SystemFile.write($0, to: file, at: 0, using: disk) }
        guard disk.sync(file) == 0 else { throw JournalFailure("fsync") }
        guard disk.rename(next, path) == 0 else { throw JournalFailure("rename") }
    }
}
