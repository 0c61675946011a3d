// SPDX-License-Identifier: MIT

import PulseCore

/// A file beside the journal with the reasons why the last entries ended. A compaction removes these entries from the
/// journal, while another process may still wait for their results. Access it only under the journal's lock.
///
/// The file is best effort: it is not synced, and unreadable lines are skipped.
struct EndedEntries: Sendable {
    /// The maximum number of entries in the file.
    static let capacity = 256

    private let path: String

    init(in directory: URL) {
        path = directory.appendingPathComponent("journal.ended", isDirectory: false).path
    }

    /// The entries, oldest first.
    func read() -> [(id: UUID, reason: QueueRemoval)] {
        guard let bytes = try? SystemFile.contents(path, limit: 64 << 10, using: .system) else { return [] }
        return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let text = String(decoding: line, as: UTF8.self)
            guard let id = UUID(uuidString: String(text.prefix(36))) else { return nil }
            return (id, QueueRemoval(note: Data(text.dropFirst(37).utf8)))
        }
    }

    /// Adds these entries and discards the oldest ones above the capacity.
    func add(_ ended: [(id: UUID, reason: QueueRemoval)]) {
        guard !ended.isEmpty else { return }
        let ids = Set(ended.map(\.id))
        let all = (read().filter { !ids.contains($0.id) } + ended).suffix(Self.capacity)
        guard let file = try? SystemFile.open(path, O_WRONLY | O_CREAT | O_TRUNC) else { return }
        defer { _ = SystemFile.close(file) }
        Disk.system.protect(path)
        let lines = all.map { "\($0.id.uuidString) \(String(decoding: $0.reason.note, as: UTF8.self))\n" }
        try? SystemFile.write(Array(lines.joined().utf8), to: file, at: 0, using: .system)
    }
}
