// SPDX-License-Identifier: MIT

import PulseCore

/// The time by which entries expire, in milliseconds. Jumps of the wall clock do not affect it.
///
/// It starts as the wall clock, in milliseconds since 1970, and advances by the uptime of a launch. From one launch to
/// the next it advances by the wall clock since the last mark in the journal, never back and by 30 days at most.
struct QueueTime: Sendable {
    /// A moment on both clocks, as recorded in the journal.
    struct Mark: Sendable, Equatable {
        let time: Int64
        let wall: Int64
    }

    private static let longestGap: Int64 = 30 * 86_400_000
    /// The smallest jump of the wall clock that needs a new mark.
    private static let smallestJump: Int64 = 60_000
    private static let markPeriod: Int64 = 3_600_000

    /// The last mark in the journal; nil if there is none, as in a journal of an earlier version.
    var mark: Mark?
    private var start: (time: Int64, uptime: TimeInterval)?

    /// Whether this launch has read the time. The journal has to be read first.
    var isStarted: Bool { start != nil }

    /// Returns the current time, or that of another process's mark if it is later.
    mutating func now(uptime: TimeInterval, wall: Int64) -> Int64 {
        let first = mark.map { $0.time + min(max(0, wall - $0.wall), Self.longestGap) } ?? wall
        let start = start ?? (first, uptime)
        let time = start.time + Date(timeIntervalSince1970: uptime - start.uptime).milliseconds
        if let mark, mark.time > time {
            self.start = (mark.time, uptime)
            return mark.time
        }
        self.start = start
        return time
    }

    /// The mark to write if there is none, the wall clock has jumped since the last one, or that is an hour old.
    mutating func dueMark(uptime: TimeInterval, wall: Int64) -> JournalRecord? {
        let new = Mark(time: now(uptime: uptime, wall: wall), wall: wall)
        guard let mark else { return new.record }
        let jump = (new.wall - new.time) - (mark.wall - mark.time)
        return abs(jump) >= Self.smallestJump || new.time - mark.time >= Self.markPeriod ? new.record : nil
    }
}

extension QueueTime.Mark {
    private static let bounds: ClosedRange<Int64> = 0...1_000_000_000_000_000_000

    /// Reads the note of a record. Nil for any other text.
    init?(note: Data) {
        let numbers = String(decoding: note, as: UTF8.self).split(separator: " ").map { Int64($0) }
        guard numbers.count == 2, let time = numbers[0], let wall = numbers[1], Self.bounds.contains(time),
            Self.bounds.contains(wall)
        else { return nil }
        (self.time, self.wall) = (time, wall)
    }

    /// The record of the mark, which belongs to no entry.
    var record: JournalRecord {
        JournalRecord(QueueOperation.marked.rawValue, UUID(bits: 0, 0), payload: Data("\(time) \(wall)".utf8))
    }
}
