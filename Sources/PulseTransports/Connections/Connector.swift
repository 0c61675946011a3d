// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore
import PulsePlatform

/// Opens connections: resolves the host, connects to the first address that accepts, tunnels through a proxy, and
/// performs the TLS handshake. The request's connect timeout covers all of it.
final class Connector: Sendable {
    private struct State {
        var openings: [UInt64: Task<ConnectionOpening, any Error>] = [:]
        var nextID: UInt64 = 0
        var isShutDown = false
    }

    private let unixSocketPath: String?
    private let resolver: NameResolver
    private let environment: @Sendable (String) -> String?
    /// Whether no environment variable names a proxy.
    private let hasNoProxyAround: Bool
    private let clock: any PulseClock
    private let deadlines: DeadlineHeap
    private let contexts: TLSContexts
    private let state = Locked(State())

    /// - Parameters:
    ///   - unixSocketPath: the socket for all connections, whatever their server; nil to connect to the servers.
    ///   - authorities: for requests whose settings have none.
    ///   - environment: the variables that may name a proxy.
    init(
        unixSocketPath: String? = nil, resolver: NameResolver = .shared, clock: any PulseClock = .system,
        authorities: TLSAuthorities? = .system,
        environment: @escaping @Sendable (String) -> String? = ProxyVariables.current
    ) {
        contexts = TLSContexts(authorities)
        (self.unixSocketPath, self.resolver, self.clock) = (unixSocketPath, resolver, clock)
        self.environment = environment
        hasNoProxyAround = ProxyVariables(environment).isEmpty
        deadlines = DeadlineHeap(clock: clock, for: .timeout)
    }

    /// The route of a request to the server of a URL. Throws as ``ConnectionRoute/init(_:to:isSecure:environment:)``
    /// does, and ``PulseError/invalidURL(_:)``.
    func route(
        of request: TransportRequest, to server: @autoclosure () -> String, isSecure: Bool
    ) throws -> ConnectionRoute {
        if unixSocketPath != nil || hasNoProxyAround && request.proxy == .environment || request.proxy == .direct {
            return .direct
        }
        let server = try ServerAddress(server(), isSecure: isSecure)
        return try ConnectionRoute(request, to: server, isSecure: isSecure, environment: environment)
    }

    /// Opens a connection to the server of a URL. Throws ``PulseError``, ``TransportFailure`` with the phase
    /// `.beforeSend`, and `CancellationError`.
    ///
    /// - Parameters:
    ///   - offersHTTP2: whether ALPN offers HTTP/2 beside HTTP/1.1.
    ///   - queued: how long the request has waited, in seconds.
    ///   - sockets: the event loop that serves the connection.
    func open(
        to server: String, by route: ConnectionRoute, isSecure: Bool, for request: TransportRequest,
        offersHTTP2: Bool = false, queued: TimeInterval, over sockets: SocketLoop
    ) async throws -> ConnectionOpening {
        let server = try ServerAddress(server, isSecure: isSecure)
        let context = isSecure ? try contexts.context(for: request, offersHTTP2: offersHTTP2) : nil
        let way = Way(
            server: server, route: route, unixSocketPath: unixSocketPath, context: context, request: request,
            startedAt: clock.uptime - queued)
        return try await run(way, within: request.connectTimeout) { [resolver, clock] in
            try await way.open(over: sockets, resolver, clock)
        }
    }

    private func run(
        _ way: Way, within timeout: TimeInterval, _ body: @escaping @Sendable () async throws -> ConnectionOpening
    ) async throws -> ConnectionOpening {
        let task = Task { try await body() }
        let isLate = Locked(false)
        let id = state.withLock { state -> UInt64? in
            guard !state.isShutDown else { return nil }
            state.nextID += 1
            state.openings[state.nextID] = task
            return state.nextID
        }
        if id == nil { task.cancel() }
        var alarm: DeadlineHeap.Alarm?
        if timeout < .infinity {
            alarm = deadlines.add(clock.uptime + timeout) {
                isLate.withLock { $0 = true }
                task.cancel()
            }
        }
        defer {
            if let alarm { deadlines.remove(alarm) }
            if let id { state.withLock { $0.openings[id] = nil } }
        }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch is CancellationError where isLate.withLock({ $0 }) && !Task.isCancelled {
            let cause = way.proxy.map { ConnectionFailure("connect timeout", proxy: $0.name) }
            throw TransportFailure(code: .timedOut, phase: .beforeSend, underlying: cause)
        }
    }

    /// Ends all openings with `CancellationError`, including later ones.
    func shutdown() {
        let openings = state.withLock { state in
            state.isShutDown = true
            return state.openings.values.map { $0 }
        }
        for opening in openings { opening.cancel() }
        deadlines.shutdown()
    }

    /// The number of openings in progress.
    var openingCount: Int { state.withLock { $0.openings.count } }
}

/// The TLS contexts of a transport, one for each combination of settings that is in use.
struct TLSContexts: Sendable {
    private struct Key: Hashable {
        let tls: TLSSettings
        let pins: SSLPinningPolicy.PinSet?
        let offersHTTP2: Bool
    }

    private static let limit = 32

    private let authorities: TLSAuthorities?
    private let all = Locked<[Key: TLSContext]>([:])

    /// - Parameter authorities: for settings that have none; nil without OpenSSL.
    init(_ authorities: TLSAuthorities?) {
        self.authorities = authorities
    }

    /// Throws ``PulseError`` for settings that cannot be used, and ``TransportFailure`` if out of memory.
    func context(for request: TransportRequest, offersHTTP2: Bool) throws -> TLSContext {
        let key = Key(tls: request.tls, pins: request.pins, offersHTTP2: offersHTTP2)
        if let known = all.withLock({ $0[key] }) { return known }
        // Without the lock: it may read files, and derive keys from passwords.
        let made = try TLSContext(
            request.tls, pins: request.pins, offersHTTP2: offersHTTP2, system: authorities)
        // Released outside of the lock: OpenSSL frees many certificates.
        var dropped: [Key: TLSContext] = [:]
        defer { withExtendedLifetime(dropped) {} }
        return all.withLock { all in
            if let known = all[key] { return known }
            // Those in use are made again, without their sessions.
            if all.count >= Self.limit { swap(&all, &dropped) }
            all[key] = made
            return made
        }
    }
}

/// One connection that is being opened.
private struct Way: Sendable {
    let server: ServerAddress
    let route: ConnectionRoute
    let unixSocketPath: String?
    /// Nil for cleartext.
    let context: TLSContext?
    let request: TransportRequest
    /// When the request began to wait, by the clock.
    let startedAt: TimeInterval

    var proxy: ConnectionRoute.Proxy? {
        if case .proxy(let proxy) = route { proxy } else { nil }
    }

    func open(
        over sockets: SocketLoop, _ resolver: NameResolver, _ clock: any PulseClock
    ) async throws -> ConnectionOpening {
        var timings = PulseResponse.Timings()
        timings.isConnectionReused = false
        let connection = try await connect(over: sockets, resolver, clock, &timings)
        timings.remoteAddress = connection.remoteAddress
        guard let context else { return ConnectionOpening(connection: connection, timings: timings) }
        let session = try await secure(connection, with: context)
        timings.secured = clock.uptime - startedAt
        return ConnectionOpening(
            connection: connection, timings: timings, unpinnedKeys: session.unpinnedKeys,
            isHTTP2: session.protocolName == "h2")
    }

    /// Connects to the server, directly or through a tunnel, or to the proxy that forwards the request.
    private func connect(
        over sockets: SocketLoop, _ resolver: NameResolver, _ clock: any PulseClock,
        _ timings: inout PulseResponse.Timings
    ) async throws -> SocketConnection {
        do {
            var targets = try await targets(resolver)[...]
            let addresses = try await addresses(resolver)
            timings.nameResolved = clock.uptime - startedAt
            while true {
                let connection = try await connect(toFirstOf: addresses, over: sockets, clock)
                timings.connected = clock.uptime - startedAt
                guard let proxy, route.forwarder(of: request, isSecure: context != nil) == nil else {
                    return connection
                }
                let target = targets.popFirst() ?? server.plainHost
                do {
                    try await makeTunnel(through: proxy, to: target, over: connection)
                    return connection
                } catch let error as PulseError where !targets.isEmpty && error.isOfAddress {
                    continue
                }
            }
        } catch let failure as TransportFailure {
            guard let proxy, failure.code != .resourceUnavailable else { throw failure }
            var cause = failure.underlying as? ConnectionFailure ?? ConnectionFailure(failure.code.symbol)
            cause.proxy = proxy.name
            throw TransportFailure(code: failure.code, phase: .beforeSend, underlying: cause)
        }
    }

    private func addresses(_ resolver: NameResolver) async throws -> [SocketAddress] {
        if let unixSocketPath {
            guard let address = SocketAddress(path: unixSocketPath) else {
                throw PulseError.invalidRequest(reason: "the path of the unix-domain socket is empty or too long")
            }
            return [address]
        }
        return try await resolver.addresses(of: proxy?.host ?? server.host, port: proxy?.port ?? server.port)
    }

    private func connect(
        toFirstOf addresses: [SocketAddress], over sockets: SocketLoop, _ clock: any PulseClock
    ) async throws -> SocketConnection {
        do {
            return try await sockets.connect(toFirstOf: addresses, clock: clock)
        } catch let failure as ConnectionFailure {
            throw failure.failure(hasTriedBothFamilies: Set(addresses.map(\.family)).count > 1)
        }
    }

    // MARK: Tunnels

    /// The targets for the proxy: the server's name, or its addresses in turn, IPv4 first, which more proxies reach.
    private func targets(_ resolver: NameResolver) async throws -> [String] {
        guard proxy?.kind == .socks5(resolvesNames: false) else { return [server.plainHost] }
        let addresses = try await resolver.addresses(of: server.plainHost, port: server.port)
        let sorted = addresses.filter { $0.family == AF_INET } + addresses.filter { $0.family != AF_INET }
        return sorted.compactMap(\.text)
    }

    private func makeTunnel(
        through proxy: ConnectionRoute.Proxy, to host: String, over connection: SocketConnection
    ) async throws {
        do {
            switch proxy.kind {
            case .http: try await askForTunnel(proxy, to: host, over: connection)
            case .socks5:
                try await converse(SOCKSDialog(to: host, port: server.port, proxy.credentials), over: connection)
            }
        } catch {
            connection.close()
            switch error {
            case is HTTP1ResponseParser.Malformed:
                let cause = ConnectionFailure("the response to CONNECT is not of HTTP/1.1")
                throw TransportFailure(code: .badServerResponse, phase: .beforeSend, underlying: cause)
            case SOCKSDialog.Failure.refused(let reason):
                throw PulseError.proxyRefused(PulseError.ProxyRefusal(proxy: proxy.name, reason: reason))
            case SOCKSDialog.Failure.invalid(let text):
                throw TransportFailure(
                    code: .cannotConnectToHost, phase: .beforeSend, underlying: ConnectionFailure(text))
            case let lost as TransportFailure where lost.code == .networkConnectionLost:
                let cause = ConnectionFailure("the connection was lost")
                throw TransportFailure(code: .cannotConnectToHost, phase: .beforeSend, underlying: cause)
            default: throw error
            }
        }
    }

    private func askForTunnel(
        _ proxy: ConnectionRoute.Proxy, to host: String, over connection: SocketConnection
    ) async throws {
        let host = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        var head = "CONNECT \(host):\(server.port) HTTP/1.1\r\nHost: \(host):\(server.port)\r\n"
        if let credentials = proxy.credentials { head += "Proxy-Authorization: Basic \(credentials.basic)\r\n" }
        try await connection.write(Data((head + "\r\n").utf8))
        // Like a response to HEAD, a response to CONNECT has no body, whatever its fields say.
        var parser = HTTP1ResponseParser(HTTP1ResponseParser.RequestTraits(isHead: true), limit: 0)
        while !parser.isComplete {
            let bytes = try await received(from: connection)
            try bytes.withUnsafeBytes { try parser.read($0) }
        }
        guard let status = parser.status, (200..<300).contains(status) else {
            let reason = parser.status.map { PulseError.ProxyRefusal.Reason.status($0) } ?? .unknown
            throw PulseError.proxyRefused(PulseError.ProxyRefusal(proxy: proxy.name, reason: reason))
        }
        // In no supported protocol does the server send first.
        guard parser.surplus.isEmpty else { throw HTTP1ResponseParser.Malformed() }
    }

    private func converse(_ dialog: SOCKSDialog, over connection: SocketConnection) async throws {
        var dialog = dialog
        var outgoing = dialog.greeting
        while true {
            if !outgoing.isEmpty { try await connection.write(Data(outgoing)) }
            if dialog.isComplete { return }
            outgoing = try dialog.read(try await received(from: connection))
        }
    }

    private func received(from connection: SocketConnection) async throws -> Data {
        guard let bytes = try await connection.read() else {
            throw TransportFailure(code: .networkConnectionLost, phase: .beforeSend)
        }
        return bytes
    }

    // MARK: TLS

    /// Performs the TLS handshake. Throws as the session does, and for unpinned keys.
    private func secure(_ connection: SocketConnection, with context: TLSContext) async throws -> TLSSession {
        do {
            let session = try TLSSession(context, host: server.host, descriptor: connection.descriptor)
            try await connection.secure(session)
            return session
        } catch let error as TLSFailure.Unpinned {
            throw request.pinningFailure(error.keys)
        }
    }
}

extension PulseError {
    /// Whether the proxy cannot reach the address, but may reach another one of the same host (RFC 1928, section 6).
    fileprivate var isOfAddress: Bool {
        guard case .proxyRefused(let refusal) = self else { return false }
        return [.socksReply(3), .socksReply(4), .socksReply(8)].contains(refusal.reason)
    }
}
#endif
