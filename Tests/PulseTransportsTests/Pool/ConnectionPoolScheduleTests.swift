// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// Seeded random schedules of requests, openings, responses and cancellations against a plain model.
@Suite(.throttled)
struct ConnectionPoolScheduleTests {
    @Test(arguments: 0..<200 as Range<UInt64>)
    func noWaiterIsLostAndNoConnectionUsedTwice(seed: UInt64) throws {
        var schedule = try Schedule(seed: seed)
        for _ in 0..<400 { try schedule.step() }
        try schedule.finish()
    }
}

/// A pool's state, and what must be true of it.
private struct Schedule {
    typealias State = ConnectionPool.State<FakeSharedConnection>

    struct Client {
        let key: ConnectionKey
        let demand: ConnectionPool.Demand
    }

    struct Opening {
        let client: Client
        let offersHTTP2: Bool
        let isAwaited: Bool
    }

    struct Idle {
        let connection: FakeConnection
        let key: ConnectionKey
        let since: TimeInterval
        let limit: TimeInterval
    }

    private static let limit = 6
    private let random: SeededRandomness
    private let keys: [ConnectionKey]
    private var state = State(limit: Schedule.limit)
    private var now: TimeInterval = 1000
    private var idle: [Idle] = []
    private var busy: [Idle] = []
    private var shared: [(key: ConnectionKey, connection: FakeSharedConnection)] = []
    /// The connections on which requests have places, once for each place.
    private var places: [(key: ConnectionKey, connection: FakeSharedConnection)] = []
    private var openings: [Opening] = []
    private var waiters: [State.WaiterID: Client] = [:]
    private var http1Keys: Set<ConnectionKey> = []
    private var http1Origins: Set<Origin> = []

    init(seed: UInt64) throws {
        random = SeededRandomness(seed: seed)
        keys = try ["https://a.test", "https://b.test", "http://c.test"].map { text in
            let origin = try #require(URL(string: text).flatMap { Origin($0) })
            let policies = TransportRequest.Policies(tls: .default, proxy: .direct)
            return ConnectionKey(origin: origin, policies: text.hasPrefix("https") ? policies : nil)
        }
    }

    private func chance(_ percent: Int) -> Bool { pick(100) < percent }

    private func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

    mutating func step() throws {
        switch pick(20) {
        case 0..<8: try ask(client())
        case 8..<11: if !openings.isEmpty { try endOpening(at: pick(openings.count)) }
        case 11..<14: if !busy.isEmpty { endExchange(at: pick(busy.count)) }
        case 14, 15: if !places.isEmpty { try endStream(at: pick(places.count)) }
        case 16: if let id = waiters.keys.sorted().first { cancel(id) }
        case 17: if !shared.isEmpty { try retire(at: pick(shared.count)) }
        case 18: pass(TimeInterval(pick(80)))
        default: rare()
        }
        check()
    }

    /// No waiter without an opening, and no second one for a key that may lead to HTTP/2.
    private func check() {
        let awaited = openings.filter(\.isAwaited).map(\.client.key)
        #expect(Set(awaited).count == awaited.count)
        #expect(waiters.values.allSatisfy { awaited.contains($0.key) })
        #expect(waiters.allSatisfy { state.isWaiting($0.key, for: $0.value.key) })
        let sizes = state.sizes
        #expect(sizes.openings == awaited.count && sizes.waiters == waiters.count)
        #expect(sizes.idle == idle.count && sizes.idle <= Self.limit)
    }

    private func client() -> Client {
        let key = keys[pick(keys.count)]
        var demand = ConnectionPool.Demand(mayShare: key.policies != nil, mayBeResent: chance(50))
        demand.wasMisdirected = chance(5)
        demand.needsNewConnection = demand.wasMisdirected || chance(10)
        return Client(key: key, demand: demand)
    }

    // MARK: Requests

    private mutating func ask(_ client: Client) throws {
        let (key, demand) = (client.key, client.demand)
        let mayShare = demand.mayShare && !http1Origins.contains(key.origin)
        let hasPlace = mayShare && !demand.wasMisdirected && shared.contains { $0.key == key && $0.connection.hasPlace }
        var dropped: [State.IdleConnection] = []
        let step = try state.next(key, demand, now: now, dropped: &dropped)
        for one in dropped { forget(one.pooled) }
        let decides = mayShare && !demand.wasMisdirected && !http1Keys.contains(key)
        switch step {
        case .share(let sharing):
            #expect(hasPlace && sharing.connection.isOpen)
            #expect(shared.contains { $0.key == key && $0.connection === sharing.connection })
            places.append((key, sharing.connection))
        case .reuse(let pooled):
            #expect(!hasPlace && !demand.needsNewConnection)
            let known = try #require(idle.last { $0.key == key })
            #expect(known.connection === pooled.connection)
            #expect(now - known.since < 118)
            #expect(now < known.since + known.limit - (demand.mayBeResent ? 0 : 1))
            idle.removeAll { $0.connection === known.connection }
            busy.append(known)
        case .wait(let id):
            #expect(!hasPlace && decides && waiters[id] == nil)
            #expect(openings.contains { $0.isAwaited && $0.client.key == key })
            waiters[id] = client
        case .open(let offersHTTP2, let isAwaited):
            #expect(!hasPlace && offersHTTP2 == mayShare && isAwaited == decides)
            #expect(demand.needsNewConnection || !idle.contains { $0.key == key })
            openings.append(Opening(client: client, offersHTTP2: offersHTTP2, isAwaited: isAwaited))
        }
    }

    private mutating func endOpening(at index: Int) throws {
        let opening = openings.remove(at: index)
        let key = opening.client.key
        var outcome = ConnectionPool.Opened<FakeSharedConnection>.failed
        switch pick(3) {
        case 0 where opening.offersHTTP2:
            let connection = FakeSharedConnection(places: 1 + pick(3))
            #expect(connection.reserve())
            http1Keys.remove(key)
            shared.append((key, connection))
            places.append((key, connection))
            outcome = .http2(State.Sharing(connection: connection))
        case 1 where opening.offersHTTP2:
            http1Keys.insert(key)
            outcome = .http1
            fallthrough
        case 1:
            let limit: TimeInterval = chance(30) ? TimeInterval(pick(90)) : .infinity
            busy.append(Idle(connection: FakeConnection(), key: key, since: now, limit: limit))
        default: break
        }
        let woken = state.end(key, isAwaited: opening.isAwaited, outcome)
        let expected = opening.isAwaited ? waiters.filter { $0.value.key == key }.keys.sorted() : []
        #expect(woken == expected)
        try wake(woken)
    }

    /// Those who are woken ask again, or another one of the same key if they have gone.
    private mutating func wake(_ ids: [State.WaiterID]) throws {
        var woken: [(id: State.WaiterID, client: Client)] = []
        for id in ids {
            let known = waiters.removeValue(forKey: id)
            let client = try #require(known)
            #expect(!state.isWaiting(id, for: client.key))
            woken.append((id, client))
        }
        for (id, client) in woken {
            if chance(90) { try ask(client) } else { try leave(id, client) }
        }
    }

    private mutating func leave(_ id: State.WaiterID, _ client: Client) throws {
        let first = waiters.filter { $0.value.key == client.key }.keys.min()
        let next = state.leave(id, client.key)
        #expect(next == first)
        try wake(next.map { [$0] } ?? [])
    }

    private mutating func cancel(_ id: State.WaiterID) {
        guard let client = waiters.removeValue(forKey: id) else { return }
        let next = state.leave(id, client.key)
        #expect(next == nil)
        #expect(!state.isWaiting(id, for: client.key))
    }

    // MARK: Connections

    private mutating func endExchange(at index: Int) {
        let ended = busy.remove(at: index)
        guard chance(80) else { return }
        let kept = Idle(connection: ended.connection, key: ended.key, since: now, limit: ended.limit)
        idle.append(kept)
        let pooled = PooledConnection(connection: kept.connection, key: kept.key, idleLimit: kept.limit)
        for one in state.keep(pooled, now: now) { forget(one.pooled) }
    }

    private mutating func endStream(at index: Int) throws {
        let place = places.remove(at: index)
        place.connection.giveBack(now: now)
        try change(place.connection, of: place.key)
    }

    private mutating func retire(at index: Int) throws {
        let (key, connection) = shared[index]
        connection.retire()
        try change(connection, of: key)
        #expect(!connection.hasPlace)
    }

    private mutating func change(_ connection: FakeSharedConnection, of key: ConnectionKey) throws {
        let first = waiters.filter { $0.value.key == key }.keys.min()
        let (woken, ended) = state.change(connection, of: key)
        #expect(woken == (connection.isOpen ? first : nil))
        #expect(ended.allSatisfy { !$0.isOpen && $0.usedCount == 0 })
        shared.removeAll { one in ended.contains { $0 === one.connection } }
        try wake(woken.map { [$0] } ?? [])
    }

    private mutating func forget(_ pooled: PooledConnection) {
        #expect(idle.contains { $0.connection === pooled.connection })
        idle.removeAll { $0.connection === pooled.connection }
    }

    private mutating func pass(_ seconds: TimeInterval) {
        now += seconds
        let (expired, next) = state.takeIdleShared(now: now)
        for connection in expired {
            #expect(connection.usedCount == 0)
            shared.removeAll { $0.connection === connection }
        }
        #expect(next > now)
    }

    private mutating func rare() {
        let key = keys[pick(keys.count)]
        if chance(80) {
            for one in state.takeIdle(key) { forget(one.pooled) }
            #expect(!idle.contains { $0.key == key })
        } else if chance(10) {
            state.requireHTTP1(key.origin)
            http1Origins.insert(key.origin)
        }
    }

    /// When all openings have ended, none waits any more.
    mutating func finish() throws {
        while !openings.isEmpty { try endOpening(at: 0) }
        check()
        #expect(waiters.isEmpty && state.sizes.openings == 0)
        let all = state.close()
        #expect(all.idle.count == idle.count && all.waiters.isEmpty)
        #expect(throws: CancellationError.self) { try ask(client()) }
    }
}
#endif
