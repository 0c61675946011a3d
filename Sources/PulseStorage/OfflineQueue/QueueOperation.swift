// SPDX-License-Identifier: MIT

import PulseCore

/// The meaning of a record for its entry.
enum QueueOperation: Character {
    /// Adds the entry, with its request.
    case enqueued = "E"
    /// Replaces the entry's request.
    case updated = "U"
    /// Makes the entry a dead letter, with the reason.
    case deadLettered = "D"
    /// Sets the number of attempts so far: refusals by the server, and attempts that could not be sent.
    case attempted = "a"
    /// Sets the number of earlier revisions, whose records a compaction removed. Earlier versions skip this record.
    case revised = "f"
    /// Makes a dead letter pending again, last of its tag.
    case revived = "q"
    /// Removes the entry, with the reason.
    case removed = "r"
    /// Marks the queue's time, for the next launch: ``QueueTime``. Earlier versions skip this record.
    case marked = "t"

    var byte: UInt8 { rawValue.asciiValue ?? 0 }

    init?(byte: UInt8) {
        self.init(rawValue: Character(Unicode.Scalar(byte)))
    }
}

/// The reason why an entry was removed.
enum QueueRemoval: Sendable, Equatable {
    /// The server accepted it.
    case done(status: Int)
    case expired
    /// The app removed it.
    case removed
    /// It was removed to make room.
    case dropped
    /// A dead letter made room for another. Its end was reported when it was given up.
    case surplus

    var note: Data {
        switch self {
        case .done(let status): Data("done \(status)".utf8)
        case .expired: Data("expired".utf8)
        case .removed: Data("removed".utf8)
        case .dropped: Data("dropped".utf8)
        case .surplus: Data("surplus".utf8)
        }
    }

    init(note: Data) {
        let words = String(decoding: note, as: UTF8.self).split(separator: " ")
        switch words.first {
        case "done": self = .done(status: words.count > 1 ? Int(words[1]) ?? 200 : 200)
        case "expired": self = .expired
        case "dropped": self = .dropped
        case "surplus": self = .surplus
        default: self = .removed
        }
    }
}
