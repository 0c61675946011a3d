// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
public import PulseCore

/// The transport over the system's libcurl, which ``StandardTransport`` uses on Linux.
///
/// One thread waits for all requests, which share connections, resolved names and TLS sessions. Upgrades have
/// connections and a thread of their own, without libcurl. HTTP/2 is used where a server offers it over TLS. The
/// transport supports all bodies and all deliveries. It enforces TLS settings, proxies, and pins over the verified
/// chain. libcurl 7.68 or later is loaded at run time; without it ``isSupported`` is false, and every request fails
/// with ``PulseError/unsupported(_:)``.
public final class CurlTransport: Transport {
    /// Whether the system has a libcurl that this transport can use.
    public static var isSupported: Bool { CurlLibrary.system != nil }

    private struct State {
        var loop: CurlLoop?
        var sockets: SocketLoop?
        var nextID: UInt64 = 0
        var isShutDown = false
    }

    private let library: CurlLibrary?
    let slots: HostSlots
    /// The maximum number of idle connections.
    let connections: Int
    private let unixSocketPath: String?
    private let connector: Connector
    private let state = Locked(State())

    /// A transport over libcurl, whose thread starts with the first request and ends with ``shutdown()``.
    ///
    /// - Parameter maximumConnectionsPerHost: requests to one host at a time, 64 by default on Linux. More wait in
    ///   order, each for its ``TransportRequest/poolTimeout`` at most. Streamed responses do not count.
    /// - Parameter unixSocketPath: all requests go to this socket, whatever host and port their URLs name. Nil by
    ///   default.
    public convenience init(
        maximumConnectionsPerHost: Int = PulseConfiguration().maximumConnectionsPerHost, unixSocketPath: String? = nil
    ) {
        self.init(maximumConnectionsPerHost, unixSocketPath, library: .system)
    }

    /// - Parameters:
    ///   - library: the assumed capabilities of the loaded libcurl.
    ///   - authorities: of connections without libcurl whose settings have none.
    init(
        _ maximumConnectionsPerHost: Int, _ unixSocketPath: String? = nil, library: CurlLibrary?,
        authorities: TLSAuthorities? = .system
    ) {
        self.library = library
        self.unixSocketPath = unixSocketPath
        connector = Connector(unixSocketPath: unixSocketPath, authorities: authorities)
        slots = HostSlots(limit: maximumConnectionsPerHost)
        connections = max(256, maximumConnectionsPerHost)
    }

    public var capabilities: TransportCapabilities { library?.capabilities ?? [] }

    public func send(_ request: TransportRequest) async throws -> PulseResponse {
        guard let url = request.urlRequest.url, let origin = Origin(url) else {
            throw PulseError.invalidURL("an http or https URL with a host is needed")
        }
        let start = pulse_monotonic_now()
        let slot = try await slots.slot(origin, for: request)
        var response = try await send(request, url, origin, holding: slot, startedAt: start)
        response.latency = pulse_monotonic_now() - start
        return response
    }

    /// Sends a request that has its slot.
    func send(
        _ request: TransportRequest, _ url: URL, _ origin: Origin, holding slot: HostSlots.Slot, startedAt: TimeInterval
    ) async throws -> PulseResponse {
        if case .upgrade = request.delivery {
            let exchange = try HTTP1Exchange(upgrade: request, url, origin, self, startedAt: startedAt)
            return try await exchange.runOnNewConnection(holding: slot)
        }
        var file: FileSource?
        if case .file(let url) = request.body { file = try await FileSource(url) }
        let (loop, id) = try nextTransfer()
        let exchange = try CurlExchange(request, file, url, origin, unixSocketPath, loop, id: id)
        return try await exchange.run(queued: pulse_monotonic_now() - startedAt, holding: slot)
    }

    /// Whether this transport can open the connections of a request itself, and not only libcurl.
    func connects(_ request: TransportRequest, isSecure: Bool) -> Bool {
        connector.serves(request, isSecure: isSecure)
    }

    /// The thread of the connections that are not libcurl's. Throws `CancellationError` after shutdown, and
    /// ``TransportFailure`` if the system has no descriptors left.
    private func sockets() throws -> SocketLoop {
        try state.withLock { state in
            guard !state.isShutDown else { throw CancellationError() }
            let sockets = try state.sockets ?? SocketLoop()
            state.sockets = sockets
            return sockets
        }
    }

    /// The number of requests to the URL's origin that wait for a slot.
    func waiterCount(_ url: URL) -> Int {
        Origin(url).map { slots.waiterCount($0) } ?? 0
    }

    public func shutdown() async {
        let (loop, sockets) = state.withLock { state in
            state.isShutDown = true
            defer { (state.loop, state.sockets) = (nil, nil) }
            return (state.loop, state.sockets)
        }
        slots.shutdown()
        connector.shutdown()
        await sockets?.shutdown()
        await loop?.shutdown()
    }

    private static let unsupported = PulseError.unsupported("there is no libcurl of version 7.68 or later")

    /// The loop, started by the first request, and a number for a transfer. Throws `CancellationError` after shutdown,
    /// and ``PulseError/unsupported(_:)`` without a libcurl.
    private func nextTransfer() throws -> (CurlLoop, UInt64) {
        guard let library else { throw Self.unsupported }
        return try state.withLock { state in
            guard !state.isShutDown else { throw CancellationError() }
            let loop = try state.loop ?? CurlLoop(library, connections: connections)
            state.loop = loop
            state.nextID += 1
            return (loop, state.nextID)
        }
    }
}

extension CurlTransport: HTTP1Connector {
    /// An upgrade has a connection of its own.
    var pool: HTTP1ConnectionPool? { nil }

    func open(
        to server: String, isSecure: Bool, for request: TransportRequest, queued: TimeInterval
    ) async throws -> HTTP1Opening {
        guard library != nil else { throw Self.unsupported }
        return try await connector.open(
            to: server, isSecure: isSecure, for: request, queued: queued, over: try sockets())
    }
}
#endif
