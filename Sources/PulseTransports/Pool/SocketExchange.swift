// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

/// Performs one request over whichever HTTP version its connection speaks, and obtains that connection.
struct SocketExchange: Sendable {
    /// A connection that this request has opened.
    enum NewConnection: Sendable {
        case http1(PooledConnection, PulseResponse.Timings)
        case http2(ConnectionPool.Machine.Sharing, PulseResponse.Timings)
    }

    let key: ConnectionKey
    /// Whether the loop sends the request, together with others.
    var isBatched = false
    /// The seconds of the connect timeout spent waiting for another request's connection.
    var waited: TimeInterval = 0

    private let request: TransportRequest
    private let url: URL
    private let origin: Origin
    private let feed: BodyFeed?
    private let route: ConnectionRoute
    private let demand: ConnectionPool.Demand
    private let connector: Connector
    private let pool: ConnectionPool
    private let startedAt: TimeInterval
    /// When the request got its slot.
    private let queuedAt = SystemClock().uptime
    /// The exchange over the likely version; the other one is made if needed.
    private var http1: HTTP1Exchange?
    private var http2: HTTP2Exchange?

    /// Throws ``PulseError`` for a request that cannot be sent.
    ///
    /// - Parameter file: the open file of a file body.
    init(
        _ request: TransportRequest, _ url: URL, _ origin: Origin, _ file: FileSource?, _ connector: Connector,
        _ pool: ConnectionPool, offersHTTP2: Bool, startedAt: TimeInterval
    ) throws {
        let isSecure = origin.scheme == "https"
        let isUpgrade = request.delivery == .upgrade
        (self.request, self.url, self.origin) = (request, url, origin)
        (self.connector, self.pool, self.startedAt) = (connector, pool, startedAt)
        feed = try request.feed(file, beyond: HTTP1Request.inlineLimit)
        route = try connector.route(of: request, to: RequestTarget(url, origin).server, isSecure: isSecure)
        key =
            isSecure
            ? ConnectionKey(origin: origin, policies: request.policies) : ConnectionKey(origin: origin, route: route)
        demand = ConnectionPool.Demand(
            mayShare: isSecure && offersHTTP2 && request.httpVersions == .automatic && !isUpgrade,
            mayBeResent: request.mayBeResent, needsNewConnection: request.needsNewConnection,
            wasMisdirected: request.wasMisdirected)
        if demand.mayShare, pool.expectsHTTP2(key) { http2 = try makeHTTP2() } else { http1 = try makeHTTP1() }
    }

    private func makeHTTP1() throws -> HTTP1Exchange {
        let forwarder = route.forwarder(of: request, isSecure: key.policies != nil)
        let outgoing = try HTTP1Request(request, url, origin, feed, proxy: forwarder)
        let owner = request.delivery == .upgrade ? nil : pool
        return HTTP1Exchange(request, outgoing, feed, owner, startedAt: startedAt)
    }

    private func makeHTTP2() throws -> HTTP2Exchange {
        try HTTP2Exchange(request, url, origin, feed, startedAt: startedAt)
    }

    /// How the request gets its connection; an upgrade opens its own. Throws `CancellationError` after shutdown.
    func next() throws -> ConnectionPool.Machine.Step {
        if request.delivery == .upgrade { return .open(offersHTTP2: false, isAwaited: false) }
        return try pool.next(key, demand, now: SystemClock().uptime)
    }

    /// The rest of the connect timeout, in seconds.
    var connectTimeout: TimeInterval { request.connectTimeout - waited }

    // MARK: Opening

    /// Opens a connection, and reports the result to the pool.
    func open(
        offersHTTP2: Bool, isAwaited: Bool, over sockets: () throws -> SocketLoop
    ) async throws -> NewConnection {
        do {
            var request = request
            request.connectTimeout = connectTimeout
            let opening = try await connector.open(
                to: RequestTarget(url, origin).server, by: route, isSecure: key.policies != nil, for: request,
                offersHTTP2: offersHTTP2, queued: SystemClock().uptime - startedAt, over: try sockets())
            var timings = opening.timings
            timings.queued = queuedAt - startedAt
            guard opening.isHTTP2 else {
                if offersHTTP2 { pool.end(key, isAwaited: isAwaited, .http1) }
                let pooled = PooledConnection(
                    connection: opening.connection, key: key, unpinnedKeys: opening.unpinnedKeys)
                return .http1(pooled, timings)
            }
            return .http2(try pool.share(opening, key, isAwaited: isAwaited), timings)
        } catch {
            pool.end(key, isAwaited: isAwaited, .failed)
            throw error
        }
    }

    // MARK: Sending

    private var reusedTimings: PulseResponse.Timings {
        var timings = PulseResponse.Timings()
        timings.queued = queuedAt - startedAt
        timings.isConnectionReused = true
        return timings
    }

    /// Sends over HTTP/1.1. Returns nil if an idle connection turned out stale before anything was sent.
    ///
    /// - Parameter timings: of the opening; nil for a connection that was idle.
    func send(
        over pooled: PooledConnection, _ timings: PulseResponse.Timings? = nil, holding slot: ConnectionSlots.Slot
    ) async throws -> PulseResponse? {
        // No later wait would notice a cancellation.
        guard !Task.isCancelled else {
            pooled.connection.close()
            throw CancellationError()
        }
        let exchange = try http1 ?? makeHTTP1()
        return try await exchange.run(
            over: pooled, timings ?? reusedTimings, isReused: timings == nil, isBatched: isBatched, holding: slot)
    }

    /// Sends over HTTP/2, in the reserved slot. Returns nil, with nothing sent, if the connection accepts no more
    /// requests.
    ///
    /// - Parameter timings: of the opening; nil for a connection that was open before.
    func send(
        over sharing: ConnectionPool.Machine.Sharing, _ timings: PulseResponse.Timings? = nil,
        holding slot: ConnectionSlots.Slot
    ) async throws -> PulseResponse? {
        let exchange: HTTP2Exchange
        do {
            exchange = try http2 ?? makeHTTP2()
        } catch {
            sharing.connection.giveBack()
            throw error
        }
        do {
            let response = try await exchange.run(
                over: sharing.connection, timings ?? reusedTimings, isReused: timings == nil, isBatched: isBatched,
                unpinnedKeys: sharing.unpinnedKeys, holding: slot)
            if response != nil { return response }
        } catch is HTTP2Exchange.RequiresHTTP1 {
            pool.requireHTTP1(origin)
            throw TransportFailure(code: .networkConnectionLost, phase: .beforeSend, isStaleConnection: true)
        }
        // Whatever its state: the pool must not offer it again.
        sharing.connection.retire()
        // A server that ends every connection would make the client open one after another.
        if timings != nil { throw TransportFailure(code: .networkConnectionLost, phase: .beforeSend) }
        return nil
    }
}
#endif
