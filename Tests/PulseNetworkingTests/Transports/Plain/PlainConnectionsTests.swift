// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore
import Testing

@testable import PulseNetworking

@Suite(.timeLimit(.minutes(1)))
struct PlainConnectionsTests {
    /// Both ends of a pair of sockets.
    private final class Pair: Sendable {
        let near: Int32
        let far: Int32

        init() throws {
            var ends: [Int32] = [0, 0]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            (near, far) = (ends[0], ends[1])
        }

        deinit {
            close(far)
        }

        /// Whether the near end is open.
        var isOpen: Bool {
            var byte: UInt8 = 0
            return recv(far, &byte, 1, Int32(MSG_DONTWAIT)) < 0 && errno == EAGAIN
        }
    }

    private let origin: Origin
    private let connections = PlainConnections(limit: 4, CurlHaste())

    init() throws {
        origin = try #require(URL(string: "http://a.test").flatMap { Origin($0) })
    }

    private func rest(_ pair: Pair, since now: TimeInterval) throws {
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        connections.giveBack(connection, mayRest: true, now: now)
    }

    @Test func givesTheConnectionThatWasUsedLast() throws {
        let pairs = try [Pair(), Pair()]
        try rest(pairs[0], since: 1)
        try rest(pairs[1], since: 2)
        let taken = try #require(try connections.take(origin, now: 3))
        _ = try taken.send([7])
        #expect(!pairs[1].isOpen)
        #expect(pairs[0].isOpen)
    }

    @Test func aConnectionThatHasRestedForTooLongIsClosed() throws {
        let pairs = try [Pair(), Pair()]
        try rest(pairs[0], since: 0)
        try rest(pairs[1], since: 1)
        #expect(try connections.take(origin, now: 200) == nil)
        #expect(!pairs[0].isOpen && !pairs[1].isOpen)
    }

    @Test func aConnectionWithSomethingToBeReadIsClosed() throws {
        let pairs = try [Pair(), Pair()]
        try rest(pairs[0], since: 1)
        try rest(pairs[1], since: 2)
        var byte: UInt8 = 7
        #expect(send(pairs[1].far, &byte, 1, 0) == 1)
        #expect(try connections.take(origin, now: 3) != nil)
        #expect(!pairs[1].isOpen)
        #expect(pairs[0].isOpen)
    }

    @Test func theOldestGoWhereThereAreTooMany() throws {
        let pairs = try (0..<5).map { _ in try Pair() }
        for (moment, pair) in pairs.enumerated() { try rest(pair, since: TimeInterval(moment)) }
        #expect(pairs.map(\.isOpen) == [false, false, true, true, true])
    }

    @Test func aLateEndHitsNobodyElse() throws {
        let pair = try Pair()
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        let turn = connection.begin()
        #expect(connection.finish())
        connection.end(.cancelled, turn: turn)
        _ = connection.begin()
        try connection.check()
    }

    @Test func anExchangeThatWasEndedWhileItReadLeavesItsConnectionUnfit() throws {
        let pair = try Pair()
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        let turn = connection.begin()
        connection.end(.cancelled, turn: turn)
        #expect(throws: PlainConnection.End.cancelled) { try connection.check() }
        #expect(!connection.finish())
    }

    @Test func closingEndsAllAndRefusesMore() throws {
        let pairs = try [Pair(), Pair()]
        try rest(pairs[0], since: 1)
        let busy = try connections.add(pairs[1].near, origin, remoteAddress: nil)
        connections.close()
        #expect(throws: PlainConnection.End.cancelled) { try busy.check() }
        #expect(!pairs[0].isOpen)
        #expect(throws: CancellationError.self) { try connections.take(origin, now: 2) }
    }

    @Test func onlyAnEarlierDeadlineWakesTheLoop() {
        #expect(connections.isLate(for: 10))
        #expect(!connections.isLate(for: 11))
        #expect(connections.isLate(for: 9))
        connections.checkTimeouts(now: 8)
        #expect(connections.nextCheck == 9)
        connections.checkTimeouts(now: 9)
        #expect(connections.nextCheck == .infinity)
    }
}
#endif
