// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore
import Testing

@testable import PulseTransports

@Suite(.timeLimit(.minutes(1)))
struct HTTP1ConnectionPoolTests {
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
    private let connections = HTTP1ConnectionPool(limit: 4)

    init() throws {
        origin = try #require(URL(string: "http://a.test").flatMap { Origin($0) })
    }

    private func rest(_ pair: Pair, since now: TimeInterval, idleLimit: TimeInterval? = nil) throws {
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        _ = connection.begin()
        _ = connection.finish(idleLimit: idleLimit)
        connections.release(connection, isReusable: true, now: now)
    }

    @Test func theMostRecentlyUsedConnectionIsTakenFirst() throws {
        let pairs = try [Pair(), Pair()]
        try rest(pairs[0], since: 1)
        try rest(pairs[1], since: 2)
        let taken = try #require(try connections.take(origin, now: 3))
        _ = taken.send([7])
        #expect(!pairs[1].isOpen)
        #expect(pairs[0].isOpen)
    }

    @Test func aConnectionThatIsIdleForTooLongIsClosed() throws {
        let pairs = try [Pair(), Pair()]
        try rest(pairs[0], since: 0)
        try rest(pairs[1], since: 1)
        #expect(try connections.take(origin, now: 200) == nil)
        #expect(!pairs[0].isOpen && !pairs[1].isOpen)
    }

    /// A connection that its server may close soon is skipped for the next one, which is kept for longer.
    @Test(
        arguments: [
            (13.9, true, 1), (14, true, 0), (12.9, false, 1), (13, false, 0), (99, true, 0), (99.5, false, nil),
        ] as [(TimeInterval, Bool, Int?)])
    func aConnectionThatItsServerMayCloseSoonIsNotTaken(
        now: TimeInterval, mayBeResent: Bool, expected: Int?
    ) throws {
        let pairs = try [Pair(), Pair()]
        try rest(pairs[0], since: 0.25, idleLimit: 100)
        try rest(pairs[1], since: 4, idleLimit: 10)
        let taken = try connections.take(origin, now: now, mayBeResent: mayBeResent)
        #expect((taken == nil) == (expected == nil))
        _ = taken?.send([7])
        #expect(pairs[1].isOpen == false)
        #expect(pairs[0].isOpen == (expected == 1))
    }

    @Test func theIdleLimitIsTheServersLatest() throws {
        let pair = try Pair()
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        #expect(connection.idleLimit == .infinity)
        for (told, known) in [(5, 5), (nil, 5), (9, 9)] as [(TimeInterval?, TimeInterval)] {
            _ = connection.begin()
            _ = connection.finish(idleLimit: told)
            #expect(connection.idleLimit == known)
        }
    }

    @Test func aStaleConnectionClosesTheOtherIdleOnes() throws {
        let pairs = try [Pair(), Pair()]
        for pair in pairs { try rest(pair, since: 1) }
        connections.dropIdle(origin)
        #expect(!pairs[0].isOpen && !pairs[1].isOpen)
        #expect(try connections.take(origin, now: 2) == nil)
        connections.dropIdle(origin)
    }

    @Test func idsOfRemovedConnectionsAreReused() throws {
        for _ in 0..<3 {
            let pairs = try [Pair(), Pair()]
            let both = try pairs.map { try connections.add($0.near, origin, remoteAddress: nil) }
            #expect(both.map(\.id).sorted() == [0, 1])
            for connection in both { connections.release(connection, isReusable: false, now: 1) }
        }
    }

    @Test func theOldestIdleConnectionsAreClosedBeyondTheLimit() throws {
        let pairs = try (0..<5).map { _ in try Pair() }
        for (moment, pair) in pairs.enumerated() { try rest(pair, since: TimeInterval(moment)) }
        #expect(pairs.map(\.isOpen) == [false, false, true, true, true])
    }

    @Test func aLateEndDoesNotHitTheNextExchange() throws {
        let pair = try Pair()
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        let exchangeID = connection.begin()
        #expect(connection.finish())
        connection.end(.cancelled, exchangeID: exchangeID)
        _ = connection.begin()
        try connection.check()
    }

    @Test func anExchangeThatEndedDuringAReadMakesItsConnectionUnusable() throws {
        let pair = try Pair()
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        let exchangeID = connection.begin()
        connection.end(.cancelled, exchangeID: exchangeID)
        #expect(throws: HTTP1Connection.End.cancelled) { try connection.check() }
        #expect(!connection.finish())
    }

    @Test func closingThePoolEndsAllExchangesAndRefusesNewOnes() throws {
        let pairs = try [Pair(), Pair()]
        try rest(pairs[0], since: 1)
        let busy = try connections.add(pairs[1].near, origin, remoteAddress: nil)
        connections.close()
        #expect(throws: HTTP1Connection.End.cancelled) { try busy.check() }
        #expect(!pairs[0].isOpen)
        #expect(throws: CancellationError.self) { try connections.take(origin, now: 2) }
    }

    // MARK: Loop

    /// A loop that does nothing by itself.
    private final class Poller: Sendable {
        // Unchecked: a C pointer, whose functions used here are thread-safe.
        nonisolated(unsafe) let pointer: OpaquePointer

        init() throws {
            _ = try #require(CurlLibrary.system)
            pointer = try #require(pulse_loop_create(4))
        }

        deinit {
            pulse_loop_close(pointer)
            pulse_loop_destroy(pointer)
        }
    }

    /// Waits with a request to be sent, and calls `act` once the wait has begun.
    private func wait(
        on connection: HTTP1Connection, sending outgoing: [UInt8] = [7, 8], _ act: @escaping (HTTP1Connection) -> Void
    ) async -> HTTP1Connection.Events {
        await connection.wait(until: .infinity, sending: outgoing) { connection in
            act(connection)
            return true
        }
    }

    private func receive(_ connection: HTTP1Connection) {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 16) { connection.receive(with: $0) }?
            .resume()
    }

    /// The numbers of the sockets that the loop finds ready.
    private func readyNumbers(_ poller: Poller) -> [UInt64] {
        var numbers = [UInt64](repeating: 0, count: PULSE_LOOP_TURN)
        var count: Int32 = 0
        pulse_loop_wait(poller.pointer, 0)
        _ = pulse_loop_plain_ready(poller.pointer, &numbers, &count)
        return Array(numbers[..<Int(count)])
    }

    /// Makes the loop read from the ready sockets. Returns their count.
    @discardableResult
    private func receiveAll(_ poller: Poller, room: Int = 64) -> Int {
        let events = readyNumbers(poller)
        withUnsafeTemporaryAllocation(byteCount: room, alignment: 16) { buffer in
            events.withUnsafeBufferPointer { connections.receive($0, with: buffer) }
        }
        return events.count
    }

    /// An idle connection on which the loop has sent a request and read its response.
    ///
    /// - Parameter act: what happens between the two.
    private func idleAfterCrowdedExchange(
        _ pair: Pair, _ poller: Poller, room: Int = 64, response: [UInt8] = [9], _ act: @escaping () -> Void = {}
    ) async throws -> HTTP1Connection {
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        _ = connection.begin()
        let events = await wait(on: connection) { connection in
            connection.sendOutgoing(poller.pointer)
            #expect(send(pair.far, response, response.count, 0) == response.count)
            act()
            #expect(receiveAll(poller, room: room) == 1)
        }
        guard case .bytes = events.arrival else { throw CocoaError(.featureUnsupported) }
        #expect(connection.finish())
        var bytes: [UInt8] = [0, 0, 0]
        #expect(recv(pair.far, &bytes, 3, Int32(MSG_DONTWAIT)) == 2)
        return connection
    }

    /// Sends a request in the crowded manner, and expects an event for its response.
    private func expectNextResponse(over connection: HTTP1Connection, _ pair: Pair, _ poller: Poller) async {
        _ = connection.begin()
        let events = await wait(on: connection) { connection in
            connection.sendOutgoing(poller.pointer)
            #expect(send(pair.far, [7], 1, 0) == 1)
            if receiveAll(poller) == 0 { connection.end(.cancelled) }
        }
        guard case .bytes([7]) = events.arrival else { return #expect(Bool(false), "\(events)") }
    }

    @Test func theLoopSendsAndReadsForAnExchange() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        let events = await wait(on: connection) { connection in
            connection.sendOutgoing(poller.pointer)
            var bytes: [UInt8] = [0, 0, 0]
            #expect(recv(pair.far, &bytes, 3, Int32(MSG_DONTWAIT)) == 2)
            #expect(bytes == [7, 8, 0])
            #expect(send(pair.far, [9], 1, 0) == 1)
            receive(connection)
        }
        #expect(events.end == nil)
        #expect(events.sent?.sentCount == 2)
        guard case .bytes([9]) = events.arrival else { return #expect(Bool(false), "\(events)") }
        try connection.check()
    }

    @Test func aRequestOfAnEndedExchangeIsNotSent() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        let exchangeID = connection.begin()
        let events = await wait(on: connection) { connection in
            connection.end(.cancelled, exchangeID: exchangeID)
            connection.sendOutgoing(poller.pointer)
        }
        #expect(events.end == .cancelled)
        #expect(events.sent == nil)
        // The connection is open, with nothing to read.
        #expect(pair.isOpen)
    }

    @Test func anExchangeThatEndsAfterSendingKnowsThatItsRequestWasSent() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        let events = await wait(on: connection) { connection in
            connection.sendOutgoing(poller.pointer)
            connection.end(.timedOut)
        }
        #expect(events.end == .timedOut)
        #expect(events.sent?.sentCount == 2)
    }

    @Test func aRequestIsSentOnceHoweverOftenItsConnectionIsPosted() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        _ = await wait(on: connection) { connection in
            connection.sendOutgoing(poller.pointer)
            connection.sendOutgoing(poller.pointer)
            connection.end(.cancelled)
        }
        var bytes = [UInt8](repeating: 0, count: 8)
        #expect(recv(pair.far, &bytes, 8, Int32(MSG_DONTWAIT)) == 2)
    }

    @Test func nothingIsReadBeforeTheRequestIsSent() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        try rest(pair, since: 1)
        let connection = try #require(try connections.take(origin, now: 2))
        _ = connection.begin()
        let events = await wait(on: connection) { connection in
            // An event of the connection that had this number before.
            receive(connection)
            #expect(send(pair.far, [9], 1, 0) == 1)
            receive(connection)
            connection.sendOutgoing(poller.pointer)
        }
        #expect(events.end == .stale)
        #expect(events.sent == nil && events.arrival == nil)
    }

    @Test(arguments: [false, true])
    func anUnsentRequestTimesOut(_ hasSomethingUnasked: Bool) async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        if hasSomethingUnasked { #expect(send(pair.far, [9], 1, 0) == 1) }
        let events = await connection.wait(until: 5, sending: [7]) { connection in
            #expect(connection.checkTimeout(now: 4) == 5)
            #expect(connection.checkTimeout(now: 5) == .infinity)
            connection.sendOutgoing(poller.pointer)
            return true
        }
        #expect(events.end == .timedOut)
        #expect(events.sent == nil)
        #expect(pair.isOpen)
    }

    @Test(arguments: [false, true])
    func anArrivedResponsePreventsATimeout(_ isThere: Bool) async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        let events = await connection.wait(until: 5, sending: [7]) { connection in
            connection.sendOutgoing(poller.pointer)
            if isThere { #expect(send(pair.far, [9], 1, 0) == 1) }
            #expect(connection.checkTimeout(now: 5) == .infinity)
            return true
        }
        #expect(events.end == (isThere ? nil : .timedOut))
        #expect(events.sent?.sentCount == 1)
    }

    @Test func theLoopWaitsForRoomToSend() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        let outgoing = [UInt8](repeating: 7, count: 4 << 20)
        let events = await wait(on: connection, sending: outgoing) { connection in
            connection.sendOutgoing(poller.pointer)
            #expect(readyNumbers(poller).isEmpty, "it has no room yet")
            var bytes = outgoing
            while recv(pair.far, &bytes, bytes.count, Int32(MSG_DONTWAIT)) > 0 {}
            #expect(readyNumbers(poller).count == 1)
            receive(connection)
        }
        let sent = try #require(events.sent)
        #expect(sent.sentCount > 0 && sent.sentCount < outgoing.count)
        #expect(sent.failure == nil && events.arrival == nil)
    }

    @Test(arguments: [false, true])
    func nothingIsSentOnAConnectionWithUnsolicitedBytes(_ isClosed: Bool) async throws {
        let (pair, poller) = (try Pair(), try Poller())
        try rest(pair, since: 1)
        let connection = try #require(try connections.take(origin, now: 2))
        _ = connection.begin()
        #expect(isClosed ? shutdown(pair.far, Int32(SHUT_WR)) == 0 : send(pair.far, [9], 1, 0) == 1)
        let events = await wait(on: connection) { $0.sendOutgoing(poller.pointer) }
        #expect(events.end == .stale)
        #expect(events.sent == nil)
        #expect(pair.isOpen)
        #expect(!connection.finish())
    }

    @Test(arguments: [false, true], [false, true])
    func theLoopSeesUnsolicitedBytesOnAnIdleConnection(_ isClosed: Bool, _ isPosted: Bool) async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try await idleAfterCrowdedExchange(pair, poller)
        let come = { _ = isClosed ? shutdown(pair.far, Int32(SHUT_WR)) : Int32(send(pair.far, [9], 1, 0)) }
        if !isPosted {
            come()
            #expect(receiveAll(poller) == 1)
        }
        _ = connection.begin()
        let events = await wait(on: connection) { connection in
            if isPosted {
                come()
                #expect(receiveAll(poller) == 1)
            }
            connection.sendOutgoing(poller.pointer)
        }
        #expect(events.end == .stale && events.sent == nil && events.arrival == nil)
    }

    @Test func anEndThatComesWithTheResponseIsNotLost() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try await idleAfterCrowdedExchange(pair, poller) { shutdown(pair.far, Int32(SHUT_WR)) }
        _ = connection.begin()
        let events = await wait(on: connection) { $0.sendOutgoing(poller.pointer) }
        #expect(events.end == .stale && events.sent == nil)
    }

    @Test func anEndThatComesBeforeTheExchangeIsOverIsNotLost() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        _ = connection.begin()
        _ = await wait(on: connection) { connection in
            connection.sendOutgoing(poller.pointer)
            #expect(send(pair.far, [9], 1, 0) == 1)
            receiveAll(poller)
        }
        shutdown(pair.far, Int32(SHUT_WR))
        #expect(receiveAll(poller) == 1)
        #expect(connection.finish())
        _ = connection.begin()
        let events = await wait(on: connection) { $0.sendOutgoing(poller.pointer) }
        #expect(events.end == .stale && events.sent == nil)
    }

    @Test func bytesBeyondTheLoopsBufferAreNotLost() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try await idleAfterCrowdedExchange(pair, poller, room: 4, response: [1, 2, 3, 4, 5])
        _ = connection.begin()
        let events = await wait(on: connection) { $0.sendOutgoing(poller.pointer) }
        #expect(events.end == .stale && events.sent == nil)
    }

    @Test func aWaitForWritabilityWatchesForOneEvent() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try await idleAfterCrowdedExchange(pair, poller)
        _ = connection.begin()
        let events = await wait(on: connection, sending: [UInt8](repeating: 7, count: 4 << 20)) { connection in
            connection.sendOutgoing(poller.pointer)
            #expect(send(pair.far, [9], 1, 0) == 1)
            receive(connection)
        }
        #expect(try #require(events.sent).sentCount < 4 << 20)
        var bytes = [UInt8](repeating: 0, count: 4 << 20)
        while recv(pair.far, &bytes, bytes.count, Int32(MSG_DONTWAIT)) > 0 {}
        #expect(readyNumbers(poller).count == 1)
        #expect(connection.finish())
        await expectNextResponse(over: connection, pair, poller)
    }

    @Test func theLoopChecksForMissedEvents() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try await idleAfterCrowdedExchange(pair, poller)
        #expect(send(pair.far, [9], 1, 0) == 1)
        _ = connection.begin()
        let events = await wait(on: connection) { $0.sendOutgoing(poller.pointer) }
        #expect(events.end == .stale && events.sent == nil)
    }

    @Test func theLoopSeesEachResponseInTheCrowdedManner() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try await idleAfterCrowdedExchange(pair, poller)
        for round in 2..<5 {
            #expect(connection.begin() == 2 * round - 1)
            let events = await wait(on: connection) { connection in
                connection.sendOutgoing(poller.pointer)
                #expect(readyNumbers(poller).isEmpty)
                #expect(send(pair.far, [UInt8(round)], 1, 0) == 1)
                #expect(receiveAll(poller) == 1)
            }
            guard case .bytes([UInt8(round)]) = events.arrival else { return #expect(Bool(false), "\(events)") }
            #expect(connection.finish())
        }
    }

    @Test func aOneShotWatchReportsOneEvent() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try await idleAfterCrowdedExchange(pair, poller)
        _ = connection.begin()
        #expect(connection.watch(poller.pointer, orWriting: false))
        #expect(send(pair.far, [9], 1, 0) == 1)
        #expect(readyNumbers(poller).count == 1)
        #expect(send(pair.far, [9], 1, 0) == 1)
        #expect(readyNumbers(poller).isEmpty)
        var bytes: [UInt8] = [0, 0]
        #expect(recv(pair.near, &bytes, 2, 0) == 2)
        #expect(connection.finish())
        await expectNextResponse(over: connection, pair, poller)
    }

    @Test func theFirstBytesOfANewConnectionAreItsResponse() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        _ = connection.begin()
        #expect(send(pair.far, [9], 1, 0) == 1)
        let events = await wait(on: connection) { connection in
            connection.sendOutgoing(poller.pointer)
            receive(connection)
        }
        #expect(events.sent?.sentCount == 2)
        guard case .bytes([9]) = events.arrival else { return #expect(Bool(false), "\(events)") }
    }

    @Test func aSendFailureEndsTheWait() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        shutdown(pair.near, Int32(SHUT_WR))
        let events = await wait(on: connection) { $0.sendOutgoing(poller.pointer) }
        #expect(events.sent?.failure?.number == EPIPE)
        #expect(events.sent?.sentCount == 0)
        #expect(events.end == nil)
    }

    @Test func theLoopSeesTheEndOfAConnection() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        let events = await wait(on: connection) { connection in
            connection.sendOutgoing(poller.pointer)
            shutdown(pair.far, Int32(SHUT_WR))
            receive(connection)
        }
        guard case .end = events.arrival else { return #expect(Bool(false), "\(events)") }
    }

    @Test func theLoopSeesAConnectionReset() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        let events = await wait(on: connection) { connection in
            connection.sendOutgoing(poller.pointer)
            // Closes with unread bytes.
            shutdown(pair.far, Int32(SHUT_RDWR))
            dup2(open("/dev/null", O_RDWR), pair.far)
            receive(connection)
        }
        guard case .broken(let failure) = events.arrival else { return #expect(Bool(false), "\(events)") }
        #expect(failure.number == ECONNRESET)
    }

    @Test func anEventIsDeliveredOnce() async throws {
        let (pair, poller) = (try Pair(), try Poller())
        let connection = try connections.add(pair.near, origin, remoteAddress: nil)
        _ = await wait(on: connection) { connection in
            connection.sendOutgoing(poller.pointer)
            #expect(send(pair.far, [9], 1, 0) == 1)
            receive(connection)
        }
        let events = await connection.wait(until: .infinity) { connection in
            receive(connection)
            return true
        }
        #expect(events.sent == nil && events.arrival == nil && events.end == nil)
    }

    @Test func theLoopStaysAwakeWhileItHasSomethingToSend() throws {
        let pair = try Pair()
        let (commands, connection) = (CurlCommandQueue(), try connections.add(pair.near, origin, remoteAddress: nil))
        #expect(commands.mayBlock())
        #expect(commands.post(connection), "the caller must wake it")
        #expect(!commands.post(connection), "it is awake")
        #expect(!commands.mayBlock())
        #expect(commands.sends().count == 2)
        #expect(commands.sends().isEmpty)
        #expect(commands.mayBlock())
    }

    @Test func theLoopSendsWhenManyExchangesAreUnderWay() {
        let connections = HTTP1ConnectionPool(limit: 4, few: 2)
        #expect((0..<4).map { _ in connections.enter() } == [.usual, .usual, .crowded, .crowded])
        for _ in 0..<3 { connections.leave() }
        #expect(connections.enter() == .usual)
    }

    @Test func anUnwatchableSocketEndsTheExchange() async throws {
        let poller = try Poller()
        // epoll refuses files that are always ready.
        let connection = try connections.add(open("/dev/null", O_RDWR), origin, remoteAddress: nil)
        let events = await connection.wait(until: .infinity) { $0.watch(poller.pointer, orWriting: false) }
        #expect(events.end == .unwatched)
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
