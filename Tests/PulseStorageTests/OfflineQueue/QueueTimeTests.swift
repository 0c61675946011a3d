// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.throttled)
struct QueueTimeTests {
    private static let day: Int64 = 86_400_000
    private static let wall: Int64 = 1_750_000_000_000

    /// A launch that has read a journal with that mark.
    private static func launch(_ mark: QueueTime.Mark? = nil) -> QueueTime {
        var time = QueueTime()
        time.mark = mark
        return time
    }

    @Test func itIsTheWallClockWithoutItsJumps() {
        var time = Self.launch()
        #expect(!time.isStarted)
        #expect(time.now(uptime: 500, wall: Self.wall) == Self.wall)
        #expect(time.isStarted)
        for jump in [40 * Self.day, -40 * Self.day, -Self.wall] {
            #expect(time.now(uptime: 500, wall: Self.wall + jump) == Self.wall)
            #expect(time.now(uptime: 501.5, wall: Self.wall + jump) == Self.wall + 1500)
        }
    }

    /// The gap by the wall clock, and what it adds to the time.
    @Test(
        arguments: [
            (0, 0), (60_000, 60_000), (29 * day, 29 * day), (31 * day, 30 * day), (-1, 0), (-40 * day, 0),
        ] as [(Int64, Int64)])
    func aGapBetweenLaunchesCountsByTheWallClock(gap: Int64, counted: Int64) {
        // The wall clock was behind the queue's time by a day.
        var time = Self.launch(.init(time: Self.wall + Self.day, wall: Self.wall))
        let start = Self.wall + Self.day + counted
        #expect(time.now(uptime: 7, wall: Self.wall + gap) == start)
        #expect(time.now(uptime: 8, wall: 0) == start + 1000)
    }

    @Test func aMarkIsDueWithoutOneAfterAJumpAndAfterAnHour() throws {
        var time = Self.launch()
        func due(_ uptime: TimeInterval, jump: Int64 = 0) throws -> QueueTime.Mark? {
            let wall = Self.wall + Int64(uptime * 1000) + jump
            let mark = try time.dueMark(uptime: uptime, wall: wall).map { record in
                #expect(record.operation == QueueOperation.marked.byte)
                return try #require(QueueTime.Mark(note: record.payload))
            }
            time.mark = mark ?? time.mark
            return mark
        }
        #expect(try due(0) == .init(time: Self.wall, wall: Self.wall))
        #expect(try due(10) == nil)
        #expect(try due(10, jump: 59_999) == nil)
        #expect(try due(20, jump: 60_000) == .init(time: Self.wall + 20_000, wall: Self.wall + 80_000))
        #expect(try due(3619, jump: 60_000) == nil)
        #expect(try due(3620, jump: 60_000) != nil)
        #expect(try due(3620, jump: -Self.day) != nil)
        time.mark = nil
        #expect(try due(3620) != nil)
    }

    /// Another process has counted the time in which this one slept. Two processes must not mark in turns.
    @Test func aLaterTimeOfAnotherProcessCounts() {
        var time = Self.launch()
        #expect(time.now(uptime: 0, wall: Self.wall) == Self.wall)
        time.mark = .init(time: Self.wall + Self.day, wall: Self.wall + Self.day)
        #expect(time.now(uptime: 1, wall: Self.wall + Self.day) == Self.wall + Self.day)
        #expect(time.dueMark(uptime: 2, wall: Self.wall + Self.day + 1000) == nil)
        time.mark = .init(time: Self.wall, wall: Self.wall)
        #expect(time.now(uptime: 3, wall: Self.wall) == Self.wall + Self.day + 2000)
    }

    @Test(arguments: ["", "1", "1 2 3", "a 2", "-1 2", "1 -2", "1 9223372036854775807", "99999999999999999999 1"])
    func aMalformedMarkIsIgnored(note: String) {
        #expect(QueueTime.Mark(note: Data(note.utf8)) == nil)
    }

    @Test func theLargestTimesDoNotTrap() {
        let most: Int64 = 1_000_000_000_000_000_000
        var time = Self.launch(.init(time: most, wall: 0))
        #expect(time.now(uptime: 0, wall: .max / 10) > most)
        #expect(time.now(uptime: .infinity, wall: .max / 10) > most)
        #expect(time.dueMark(uptime: .greatestFiniteMagnitude, wall: 0) != nil)
    }
}
