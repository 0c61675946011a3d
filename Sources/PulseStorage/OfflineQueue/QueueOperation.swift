// SPDX-License-Identifier: MIT

import PulseCore

/// What a record of the queue's journal says about its entry.
enum QueueOperation: Character {
    /// The entry, with its request.
    case enqueued = "E"
    /// Its request in another form.
    case updated = "U"
    /// It is given up, with the reason.
    case deadLettered = "D"
    /// The number of verdicts of the server so far, and of tries that could not be sent.
    case attempted = "a"
    /// The number of its earlier forms, whose records a compaction took out. Earlier versions pass over it.
    case reformed = "f"
    /// It waits again, last of its tag.
    case revived = "q"
    /// It is gone, with the reason.
    case removed = "r"

    var byte: UInt8 { rawValue.asciiValue ?? 0 }

    init?(byte: UInt8) {
        self.init(rawValue: Character(Unicode.Scalar(byte)))
    }
}

/// Why an entry is gone.
enum QueueRemoval: Sendable, Equatable {
    /// The server accepted it.
    case done(status: Int)
    case expired
    /// The app removed it.
    case removed
    /// It was removed to make room.
    case dropped
    /// A dead letter made room for another. Everybody was told when it was given up.
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
