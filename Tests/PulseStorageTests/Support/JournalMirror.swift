// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The contents of a log, according to its changes.
final class JournalMirror: Sendable {
    struct Contents: Sendable {
        var items: [JournalItem] = []
        var damagedBytes = 0
        var keptBytes = 0
        var resets = 0
    }

    private let contents = Locked(Contents())

    func apply(_ change: JournalChange) {
        contents.withLock { contents in
            switch change {
            case .reset(let items):
                contents.items = items
                contents.resets += 1
            case .appended(let items): contents.items += items
            case .damaged(let bytes, let kept):
                contents.damagedBytes += bytes
                contents.keptBytes += kept
            }
        }
    }

    var now: Contents { contents.withLock { $0 } }
    var ids: [UUID] { now.items.map(\.id) }

    func location(of id: UUID) -> JournalLocation? {
        now.items.last { $0.id == id }?.location
    }
}

extension FileJournal {
    static func open(_ url: URL, _ mirror: JournalMirror, disk: Disk = .system) -> FileJournal {
        FileJournal(url, disk: disk) { mirror.apply($0) }
    }
}

extension UUID {
    /// Creates the same UUID for the same number.
    init(number: Int) {
        self.init(bits: 0x0102_0304_0506_4708, UInt64(bitPattern: Int64(number)))
    }
}

extension JournalRecord {
    static func sample(_ number: Int, tag: String? = "tag", payload: String? = nil) -> JournalRecord {
        JournalRecord(
            "E", UUID(number: number), tag: tag, expiry: Int64(1000 + number),
            payload: Data((payload ?? #"{"n":\#(number)}"#).utf8))
    }
}
