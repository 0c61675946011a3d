// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct ConnectionPoolStateTests {
    private typealias State = ConnectionPool.State<FakeSharedConnection>

    private static let shareable = ConnectionPool.Demand(mayShare: true)
    private let key: ConnectionKey

    init() throws {
        key = ConnectionKey(origin: try #require(URL(string: "https://a.test").flatMap { Origin($0) }))
    }

    /// What a request does next, in short.
    private func next(
        _ state: inout State, _ demand: ConnectionPool.Demand = shareable, now: TimeInterval = 0
    ) throws -> String {
        var dropped: [State.IdleConnection] = []
        switch try state.next(key, demand, now: now, dropped: &dropped) {
        case .reuse: return "reuse"
        case .share: return "share"
        case .wait(let id): return "wait \(id)"
        case .open(let offersHTTP2, let isAwaited):
            return "open" + (offersHTTP2 ? " h2" : "") + (isAwaited ? " awaited" : "")
        }
    }

    /// What so many requests do next, one after the other.
    private func next(_ count: Int, _ state: inout State) throws -> [String] {
        var steps: [String] = []
        for _ in 0..<count { steps.append(try next(&state)) }
        return steps
    }

    private func share(_ state: inout State, places: Int) throws -> FakeSharedConnection {
        #expect(try next(&state) == "open h2 awaited")
        let connection = FakeSharedConnection(places: places)
        #expect(connection.reserve())
        _ = state.end(key, isAwaited: true, .http2(State.Sharing(connection: connection)))
        return connection
    }

    @Test func theFirstRequestsWaitForOneOpeningAndShareIt() throws {
        var state = State(limit: 4)
        #expect(try next(3, &state) == ["open h2 awaited", "wait 1", "wait 2"])
        let connection = FakeSharedConnection(places: 3)
        #expect(connection.reserve())
        #expect(state.end(key, isAwaited: true, .http2(State.Sharing(connection: connection))) == [1, 2])
        #expect(try next(3, &state) == ["share", "share", "open h2 awaited"])
    }

    @Test func aConnectionProbablyTakesAsManyAsTheOthers() throws {
        var state = State(limit: 4)
        #expect(state.expectedLimit(key) == nil)
        let first = try share(&state, places: 1)
        #expect(state.expectedLimit(key) == 1)
        _ = try share(&state, places: 2)
        #expect(state.expectedLimit(key) == 2)
        first.retire()
        _ = state.change(first, of: key)
        #expect(state.expectedLimit(key) == 2)
    }

    @Test func withHTTP1EachOpensItsOwn() throws {
        var state = State(limit: 4)
        #expect(try next(2, &state) == ["open h2 awaited", "wait 1"])
        #expect(state.expectsHTTP2(key))
        #expect(state.end(key, isAwaited: true, .http1) == [1])
        #expect(!state.expectsHTTP2(key))
        // The server may have learned it meanwhile.
        #expect(try next(2, &state) == ["open h2", "open h2"])
        let connection = FakeSharedConnection(places: 3)
        #expect(state.end(key, isAwaited: false, .http2(State.Sharing(connection: connection))) == [])
        #expect(try next(&state) == "share")
        #expect(state.expectsHTTP2(key))
    }

    @Test func afterAFailureOneTriesAtATime() throws {
        var state = State(limit: 4)
        #expect(try next(3, &state) == ["open h2 awaited", "wait 1", "wait 2"])
        #expect(state.end(key, isAwaited: true, .failed) == [1, 2])
        #expect(try next(2, &state) == ["open h2 awaited", "wait 3"])
    }

    @Test func aFreePlaceIsForTheFirstWaiter() throws {
        var state = State(limit: 4)
        let connection = try share(&state, places: 1)
        #expect(try next(3, &state) == ["open h2 awaited", "wait 1", "wait 2"])
        connection.giveBack(now: 1)
        #expect(state.change(connection, of: key).woken == 1)
        #expect(try next(&state) == "share")
        connection.retire()
        #expect(state.change(connection, of: key).woken == nil)
        #expect(state.end(key, isAwaited: true, .failed) == [2])
    }

    /// A waiter that is cancelled when it is told of a place does not take it.
    @Test func aWaiterThatLeavesAfterItWasToldLetsTheNextOneAsk() throws {
        var state = State(limit: 4)
        let connection = try share(&state, places: 1)
        #expect(try next(4, &state) == ["open h2 awaited", "wait 1", "wait 2", "wait 3"])
        connection.giveBack(now: 1)
        #expect(state.change(connection, of: key).woken == 1)
        #expect(state.leave(2, key) == nil)
        #expect(state.leave(1, key) == 3)
        #expect(try next(&state) == "share")
        #expect(state.leave(3, key) == nil)
        #expect(state.end(key, isAwaited: true, .failed) == [])
        #expect(state.leave(3, key) == nil)
    }

    @Test func aRequestThatWasMisdirectedSharesNothing() throws {
        var state = State(limit: 4)
        let connection = try share(&state, places: 9)
        var demand = Self.shareable
        demand.needsNewConnection = true
        #expect(try next(&state, demand) == "share")
        demand.wasMisdirected = true
        #expect(try next(&state, demand) == "open h2")
        connection.retire()
        #expect(try next(&state) == "open h2 awaited")
        #expect(try next(&state, demand) == "open h2")
    }

    @Test func anOriginMayRequireHTTP1() throws {
        var state = State(limit: 4)
        _ = try share(&state, places: 9)
        state.requireHTTP1(key.origin)
        #expect(try next(2, &state) == ["open", "open"])
        _ = state.keep(PooledConnection(connection: FakeConnection(), key: key), now: 0)
        #expect(try next(&state) == "reuse")
        #expect(!state.expectsHTTP2(key))
    }

    @Test func whatIsRememberedIsBounded() throws {
        var state = State(limit: 4)
        let keys = try (0..<2_000).map { number in
            let url = URL(string: "https://server\(number).test/")
            return ConnectionKey(origin: try #require(url.flatMap { Origin($0) }))
        }
        for (index, key) in keys.enumerated() {
            if index.isMultiple(of: 2) {
                _ = state.end(key, isAwaited: false, .http1)
            } else {
                state.requireHTTP1(key.origin)
            }
            #expect(!state.expectsHTTP2(key))
        }
        #expect(keys.count { !state.expectsHTTP2($0) } <= 512)
    }

    @Test func idleSharedConnectionsEnd() throws {
        var state = State(limit: 4)
        let connections = try (0..<2).map { _ in try share(&state, places: 1) }
        connections[0].giveBack(now: 10)
        var result = state.takeIdleShared(now: 127.5)
        #expect(result.expired.isEmpty && result.next == 128)
        result = state.takeIdleShared(now: 128)
        #expect(result.expired.map { $0 === connections[0] } == [true] && result.next == .infinity)
        #expect(state.sizes.shared == 1)
        // One that still has streams is kept until they end.
        connections[1].retire()
        #expect(state.change(connections[1], of: key).ended.isEmpty)
        connections[1].giveBack(now: 130)
        #expect(state.change(connections[1], of: key).ended.map { $0 === connections[1] } == [true])
        #expect(state.sizes.shared == 0)
    }

    @Test func theOldestIdleSharedConnectionsEndBeyondTheLimit() throws {
        var state = State(limit: 4)
        let connections = try (0..<6).map { _ in try share(&state, places: 1) }
        for (moment, connection) in connections.enumerated() { connection.giveBack(now: TimeInterval(moment)) }
        let expired = state.takeIdleShared(now: 7).expired
        #expect(expired.count == 3 && state.sizes.shared == 3)
        #expect(expired.allSatisfy { one in connections[..<3].contains { $0 === one } })
    }

    @Test func theEndWakesAllAndKeepsNothing() throws {
        var state = State(limit: 4)
        let connection = try share(&state, places: 1)
        #expect(try next(2, &state) == ["open h2 awaited", "wait 1"])
        let idle = PooledConnection(connection: FakeConnection(), key: key)
        #expect(state.keep(idle, now: 0).isEmpty)
        let all = state.close()
        #expect(all.waiters == [1] && all.idle.count == 1 && all.shared.map { $0 === connection } == [true])
        #expect(state.keep(idle, now: 0).count == 1)
        #expect(throws: CancellationError.self) { try next(&state) }
        _ = state.end(key, isAwaited: true, .http2(State.Sharing(connection: connection)))
        let sizes = state.sizes
        let counts: [Int] = [sizes.idle, sizes.shared, sizes.openings, sizes.waiters]
        #expect(counts == [0, 0, 0, 0])
    }
}
#endif
