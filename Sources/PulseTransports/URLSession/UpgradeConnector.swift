// SPDX-License-Identifier: MIT

import PulseCore

/// Performs the upgrades of a ``URLSessionTransport``, each over its own channel.
final class UpgradeConnector: Sendable {
    /// Makes a channel. Throws ``PulseError/unsupported(_:)`` for a setting that the channel cannot enforce.
    typealias ChannelMaker = @Sendable (ChannelSettings) throws -> any CallbackChannel

    private struct Entry {
        weak var connection: CallbackConnection?
    }

    private struct State {
        var connections: [Entry] = []
        /// The number of connections at which the released ones are removed.
        var limit = 64
        var isShutDown = false
    }

    private let settings: @Sendable () -> URLSessionConfiguration
    private let security: SessionSecurity?
    private let makeChannel: ChannelMaker
    private let state = Locked(State())

    init(
        settings: @escaping @Sendable () -> URLSessionConfiguration, security: SessionSecurity?,
        makeChannel: @escaping ChannelMaker
    ) {
        (self.settings, self.security, self.makeChannel) = (settings, security, makeChannel)
    }

    /// The number of tracked connections, including released ones.
    var connectionCount: Int { state.withLock { $0.connections.count } }

    func send(
        _ request: TransportRequest, _ url: URL, _ origin: Origin, _ slots: ConnectionSlots
    ) async throws -> PulseResponse {
        let start = SystemClock().uptime
        var sent = request
        sent.urlRequest.add(settings().httpAdditionalHeaders ?? [:])
        try sent.validate()
        let exchange = HTTP1Exchange(sent, try HTTP1Request(sent, url, origin), nil, nil, startedAt: start)
        let slot = try await slots.slot(origin, for: request)
        let queued = SystemClock().uptime - start
        let opening = try await open(to: url, origin, for: sent, queued: queued)
        var timings = opening.timings
        timings.queued = queued
        let pooled = PooledConnection(connection: opening.connection, key: ConnectionKey(origin: origin))
        guard var response = try await exchange.run(over: pooled, timings, isReused: false, holding: slot) else {
            throw TransportFailure(code: .networkConnectionLost, phase: .beforeSend)
        }
        response.request = request.urlRequest
        response.latency = SystemClock().uptime - start
        return response
    }

    private func open(
        to url: URL, _ origin: Origin, for request: TransportRequest, queued: TimeInterval
    ) async throws -> ConnectionOpening {
        let configuration = settings()
        if configuration.connectionProxyDictionary?.isEmpty == false {
            throw PulseError.unsupported("an upgrade enforces no proxies of a session's configuration")
        }
        let target = RequestTarget(url, origin)
        let settings = try channelSettings(to: target.server, isSecure: target.isSecure, for: request, configuration)
        let connection = CallbackConnection(try makeChannel(settings))
        try add(connection)
        let start = SystemClock().uptime
        try await connection.open(timeout: request.connectTimeout)
        var timings = PulseResponse.Timings()
        timings.isConnectionReused = false
        let ready = queued + SystemClock().uptime - start
        // A channel over TLS does not report when TCP was connected.
        if target.isSecure { timings.secured = ready } else { timings.connected = ready }
        return ConnectionOpening(connection: connection, timings: timings)
    }

    private func channelSettings(
        to server: String, isSecure: Bool, for request: TransportRequest, _ configuration: URLSessionConfiguration
    ) throws -> ChannelSettings {
        let settings = try SessionSettings(request, isSecure: isSecure)
        let credentials = try security.map { try SessionCredentials(settings, $0) } ?? SessionCredentials()
        return ChannelSettings(
            address: try ServerAddress(server, isSecure: isSecure), isSecure: isSecure,
            urlRequest: request.urlRequest, configuration: configuration, minimumVersion: settings.tls.minimumVersion,
            proxy: settings.proxy, authorities: isSecure ? try request.authorities(of: credentials) : [],
            identity: credentials.certificates.identity,
            check: { try request.check($0, against: settings.pins) },
            evaluatesTrust: settings.evaluatesTrust)
    }

    /// Tracks a connection for the shutdown. Throws `CancellationError` after that.
    private func add(_ connection: CallbackConnection) throws {
        try state.withLock { state in
            guard !state.isShutDown else { throw CancellationError() }
            if state.connections.count >= state.limit {
                state.connections.removeAll { $0.connection == nil }
                state.limit = max(64, 2 * state.connections.count)
            }
            state.connections.append(Entry(connection: connection))
        }
    }

    /// Closes all connections, and opens none from now on.
    func shutdown() {
        let connections = state.withLock { state in
            state.isShutDown = true
            defer { state.connections = [] }
            return state.connections.map(\.connection)
        }
        for connection in connections { connection?.close() }
    }
}

extension URLRequest {
    /// Adds the fields of a session's configuration that the request does not have.
    fileprivate mutating func add(_ fields: [AnyHashable: Any]) {
        for (name, value) in fields {
            let name = "\(name)"
            if self.value(forHTTPHeaderField: name) == nil { setValue("\(value)", forHTTPHeaderField: name) }
        }
    }
}
