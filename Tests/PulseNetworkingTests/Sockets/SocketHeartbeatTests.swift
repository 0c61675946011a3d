// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseSockets

/// Pings, pongs and the loss of a silent peer; without a wire and without time.
@Suite(.throttled)
struct SocketHeartbeatTests {
    private static func heartbeat(pongTimeout: TimeInterval? = nil) -> SocketHeartbeat {
        SocketHeartbeat(interval: 30, pongTimeout: pongTimeout, openedAt: 0)
    }

    @Test func pingsComeAtTheirInterval() {
        var heartbeat = Self.heartbeat()
        #expect(heartbeat.deadline == 30 && heartbeat.due(at: 29) == .nothing)
        #expect(heartbeat.due(at: 30) == .ping)
        let payload = heartbeat.ping(at: 30, sentCount: 0, reply: nil)
        #expect(heartbeat.due(at: 31) == .nothing)
        #expect(heartbeat.pong(payload, at: 31).isEmpty)
        #expect(heartbeat.roundTrip == 1 && heartbeat.deadline == 60)
        #expect(heartbeat.due(at: 60) == .ping)
    }

    @Test func aSilentPeerIsLost() {
        var heartbeat = Self.heartbeat(pongTimeout: 10)
        #expect(heartbeat.due(at: 30) == .ping)
        _ = heartbeat.ping(at: 30, sentCount: 0, reply: nil)
        #expect(heartbeat.deadline == 40 && heartbeat.due(at: 39.9) == .nothing)
        #expect(heartbeat.due(at: 40) == .nothing && heartbeat.deadline == 41)
        #expect(heartbeat.due(at: 41) == .loss)
    }

    /// All times are past at once; the pong is read only then.
    @Test func whatCameWhileTheProcessWasStoppedCounts() {
        var heartbeat = Self.heartbeat(pongTimeout: 10)
        let payload = heartbeat.ping(at: 30, sentCount: 3, reply: nil)
        #expect(heartbeat.due(at: 5000) == .nothing)
        heartbeat.received(at: 5000.5)
        _ = heartbeat.pong(payload, at: 5000.5)
        #expect(heartbeat.due(at: 5001) == .nothing && heartbeat.confirmedCount == 3)
        _ = heartbeat.ping(at: 5010, sentCount: 3, reply: nil)
        #expect(heartbeat.due(at: 5020) == .nothing && heartbeat.deadline == 5021)
    }

    @Test func theApplicationWaitsForAPongNoLongerThanThatWhileItDoesNotReceive() {
        var heartbeat = Self.heartbeat(pongTimeout: 10)
        heartbeat.hold(true, at: 0)
        heartbeat.request(at: 1, isAwaited: true)
        let reply = SocketHeartbeat.Reply()
        _ = heartbeat.ping(at: 2, sentCount: 0, reply: reply)
        #expect(heartbeat.deadline == 11 && heartbeat.due(at: 10.9) == .nothing)
        #expect(heartbeat.due(at: 11) == .overdue && heartbeat.deadline == 30)
        #expect(heartbeat.takeReplies().count == 1 && heartbeat.takeReplies().isEmpty)
        #expect(heartbeat.due(at: 1000) == .nothing)
    }

    @Test func anyByteIsLife() {
        var heartbeat = Self.heartbeat(pongTimeout: 10)
        _ = heartbeat.ping(at: 30, sentCount: 0, reply: nil)
        heartbeat.received(at: 35)
        #expect(heartbeat.due(at: 44.9) != .loss && heartbeat.deadline == 45)
        #expect(heartbeat.due(at: 45) != .loss)
        #expect(heartbeat.due(at: 46) == .loss)
    }

    @Test func whileThisSideDoesNotReadNoPongIsMissed() {
        var heartbeat = Self.heartbeat(pongTimeout: 10)
        _ = heartbeat.ping(at: 30, sentCount: 0, reply: nil)
        heartbeat.hold(true, at: 31)
        #expect(heartbeat.due(at: 1000) != .loss)
        heartbeat.hold(false, at: 1000)
        #expect(heartbeat.due(at: 1009) != .loss)
        #expect(heartbeat.due(at: 1010) != .loss)
        #expect(heartbeat.due(at: 1011) == .loss)
    }

    @Test func aPongConfirmsWhatWasSentBeforeItsPing() {
        var heartbeat = Self.heartbeat()
        let replies = (0..<3).map { _ in SocketHeartbeat.Reply() }
        let payloads = (0..<3).map { heartbeat.ping(at: TimeInterval($0), sentCount: 10 * $0, reply: replies[$0]) }
        #expect(heartbeat.pong(Data("another".utf8), at: 4).isEmpty && heartbeat.confirmedCount == 0)
        let confirmed = heartbeat.pong(payloads[1], at: 4)
        #expect(confirmed.map(\.roundTrip) == [4, 3] && heartbeat.confirmedCount == 10)
        #expect(confirmed.map { ObjectIdentifier($0.reply) } == replies.prefix(2).map { ObjectIdentifier($0) })
        #expect(heartbeat.pong(payloads[0], at: 5).isEmpty && heartbeat.confirmedCount == 10)
        #expect(heartbeat.takeReplies().map { ObjectIdentifier($0) } == [ObjectIdentifier(replies[2])])
    }

    @Test func withoutAnIntervalNoPingIsSent() {
        var heartbeat = SocketHeartbeat(interval: 0, pongTimeout: nil, openedAt: 0)
        #expect(heartbeat.deadline == .infinity && heartbeat.due(at: 1e9) == .nothing)
        _ = heartbeat.ping(at: 5, sentCount: 0, reply: nil)
        #expect(heartbeat.deadline == 35)
    }
}
