// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct ConnectionPoolTests {
    private let key: ConnectionKey
    private let pool = ConnectionPool(limit: 4)
    private let loop: SocketLoop

    init() throws {
        key = ConnectionKey(origin: try #require(URL(string: "http://a.test").flatMap { Origin($0) }))
        loop = SocketLoop(try SocketLoop.Core())
    }

    private func rest(_ pair: SocketPair, since now: TimeInterval, idleLimit: TimeInterval = .infinity) throws {
        let connection = try loop.connection(SocketChannel(pair.near), remoteAddress: nil)
        pool.keep(PooledConnection(connection: connection, key: key, idleLimit: idleLimit), now: now)
    }

    /// An idle connection; nil without one.
    private func take(
        _ key: ConnectionKey? = nil, now: TimeInterval, mayBeResent: Bool = false
    ) throws -> PooledConnection? {
        let demand = ConnectionPool.Demand(mayBeResent: mayBeResent)
        guard case .reuse(let pooled) = try pool.next(key ?? self.key, demand, now: now) else { return nil }
        return pooled
    }

    @Test func theMostRecentlyUsedConnectionIsTakenFirst() throws {
        let pairs = try [SocketPair(), SocketPair()]
        try rest(pairs[0], since: 1)
        try rest(pairs[1], since: 2)
        let taken = try #require(try take(now: 3))
        taken.connection.close()
        #expect(!pairs[1].isOpen)
        #expect(pairs[0].isOpen)
    }

    @Test func aConnectionThatIsIdleForTooLongIsClosed() throws {
        let pairs = try [SocketPair(), SocketPair()]
        try rest(pairs[0], since: 0)
        try rest(pairs[1], since: 1)
        #expect(try take(now: 200) == nil)
        #expect(!pairs[0].isOpen && !pairs[1].isOpen)
    }

    /// A connection is for requests that are secured and routed in the same way, not for all requests to its origin.
    @Test func aConnectionIsNotSharedAcrossPolicies() throws {
        func key(
            pins: Set<String>? = nil, tls: TLSSettings = .default, proxy: ProxySettings = .environment,
            _ versions: PulseConfiguration.HTTPVersions = .http1
        ) -> ConnectionKey {
            let pins = pins.map { SSLPinningPolicy.PinSet(publicKeyHashes: $0) }
            let policies = TransportRequest.Policies(pins: pins, tls: tls, proxy: proxy, httpVersions: versions)
            return ConnectionKey(origin: self.key.origin, policies: policies)
        }
        let pair = try SocketPair()
        let connection = try loop.connection(SocketChannel(pair.near), remoteAddress: nil)
        pool.keep(PooledConnection(connection: connection, key: key(pins: ["a"])), now: 1)
        for other in [
            self.key, key(), key(pins: ["b"]), key(pins: ["a"], tls: TLSSettings(minimumVersion: .tls13)),
            key(pins: ["a"], proxy: .direct), key(pins: ["a"], .automatic),
        ] {
            #expect(try take(other, now: 2) == nil)
        }
        let taken = try #require(try take(key(pins: ["a"]), now: 2))
        taken.connection.close()
        #expect(!pair.isOpen)
    }

    /// In cleartext, a connection to a proxy is not one to the server.
    @Test func aConnectionIsNotSharedAcrossRoutes() throws {
        let pair = try SocketPair()
        let connection = try loop.connection(SocketChannel(pair.near), remoteAddress: nil)
        var proxy = ConnectionRoute.Proxy(kind: .http, host: "p", port: 1)
        let known = ConnectionKey(origin: key.origin, route: .proxy(proxy))
        pool.keep(PooledConnection(connection: connection, key: known), now: 1)
        proxy.credentials = ConnectionRoute.Credentials(username: "ada", password: "")
        #expect(try take(now: 2) == nil)
        #expect(try take(ConnectionKey(origin: key.origin, route: .proxy(proxy)), now: 2) == nil)
        #expect(try take(known, now: 2) != nil)
    }

    @Test func aRequestThatNeedsANewConnectionGetsNoIdleOne() throws {
        let pair = try SocketPair()
        try rest(pair, since: 1)
        let demand = ConnectionPool.Demand(needsNewConnection: true)
        guard case .open(offersHTTP2: false, isAwaited: false) = try pool.next(key, demand, now: 2) else {
            Issue.record("an open connection was used")
            return
        }
        #expect(try take(now: 2) != nil)
    }

    /// A connection that its server may close soon is skipped for the next one, which is kept for longer.
    @Test(
        arguments: [
            (13.9, true, 1), (14, true, 0), (12.9, false, 1), (13, false, 0), (99, true, 0), (99.5, false, nil),
        ] as [(TimeInterval, Bool, Int?)])
    func aConnectionThatItsServerMayCloseSoonIsNotTaken(
        now: TimeInterval, mayBeResent: Bool, expected: Int?
    ) throws {
        let pairs = try [SocketPair(), SocketPair()]
        try rest(pairs[0], since: 0.25, idleLimit: 100)
        try rest(pairs[1], since: 4, idleLimit: 10)
        let taken = try take(now: now, mayBeResent: mayBeResent)
        #expect((taken == nil) == (expected == nil))
        taken?.connection.close()
        #expect(pairs[1].isOpen == false)
        #expect(pairs[0].isOpen == (expected == 1))
    }

    @Test func aStaleConnectionClosesTheOtherIdleOnes() throws {
        let pairs = try [SocketPair(), SocketPair()]
        for pair in pairs { try rest(pair, since: 1) }
        pool.dropIdle(key)
        #expect(!pairs[0].isOpen && !pairs[1].isOpen)
        #expect(try take(now: 2) == nil)
        pool.dropIdle(key)
    }

    @Test func theOldestIdleConnectionsAreClosedBeyondTheLimit() throws {
        let pairs = try (0..<5).map { _ in try SocketPair() }
        for (moment, pair) in pairs.enumerated() { try rest(pair, since: TimeInterval(moment)) }
        #expect(pairs.map(\.isOpen) == [false, false, true, true, true])
    }

    @Test func aClosedPoolClosesItsConnectionsAndKeepsNone() throws {
        let pairs = try [SocketPair(), SocketPair()]
        try rest(pairs[0], since: 1)
        pool.close()
        try rest(pairs[1], since: 1)
        #expect(!pairs[0].isOpen && !pairs[1].isOpen)
        #expect(throws: CancellationError.self) { try take(now: 2) }
    }
}
#endif
