// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
public import PulseCore
import Synchronization

/// A transport over the system's sockets; ``StandardTransport`` uses it on Linux.
///
/// It speaks HTTP/1.1 and, over TLS where the server offers it, HTTP/2. One thread waits for the sockets of all
/// requests, which share connections and TLS sessions; an upgrade has its own connection. The transport supports all
/// bodies and all deliveries. It enforces TLS settings, proxies, and pins over the verified chain.
///
/// The first transport loads the system's OpenSSL, 1.1.1 or later, and nghttp2. Without OpenSSL a request over TLS
/// fails with ``PulseError/unsupported(_:)``. Without nghttp2 all connections speak HTTP/1.1.
///
/// ```swift
/// let transport = SocketTransport(unixSocketPath: "/var/run/docker.sock")
/// let docker = PulseClient(configuration: configuration, transport: transport)
/// ```
public final class SocketTransport: Transport {
    /// Up to this number of requests in progress, each sends by itself, which saves waking the loop. With more, the
    /// loop batches the sends, because the code of calls and of the kernel's send path exceeds a processor's
    /// first-level caches. The row `32 in flight` of `Benchmarks/transports` falls by a fifth without that.
    static let few = 4

    private struct State {
        var sockets: SocketLoop?
        var isShutDown = false
    }

    let slots: ConnectionSlots
    let pool: ConnectionPool
    private let connector: Connector
    private let few: Int
    private let offersHTTP2: Bool
    private let state = Locked(State())
    /// The number of requests in progress, including those that have no connection yet.
    private let underWay = Atomic(0)

    /// A transport whose thread starts with the first connection and ends with ``shutdown()``.
    ///
    /// - Parameter maxConnectionsPerHost: the maximum number of concurrent requests to one host, 64 by default on
    ///   Linux. Others wait in order, each for at most its ``TransportRequest/poolTimeout``. Streamed responses do not
    ///   count.
    /// - Parameter unixSocketPath: all requests go to this socket, whatever host and port their URLs name. Nil by
    ///   default.
    public convenience init(
        maxConnectionsPerHost: Int = PulseConfiguration().maxConnectionsPerHost, unixSocketPath: String? = nil
    ) {
        self.init(maxConnectionsPerHost, unixSocketPath)
    }

    /// - Parameters:
    ///   - few: ``few``, except in tests.
    ///   - offersHTTP2: whether ALPN offers HTTP/2.
    ///   - authorities: for requests whose settings have none.
    ///   - environment: the variables that may name a proxy; nil for those of the process.
    init(
        _ maxConnectionsPerHost: Int, _ unixSocketPath: String? = nil, few: Int = SocketTransport.few,
        offersHTTP2: Bool = HTTP2Session.isSupported, authorities: TLSAuthorities? = .system,
        environment: (@Sendable (String) -> String?)? = nil, clock: any PulseClock = .system
    ) {
        (self.few, self.offersHTTP2) = (few, offersHTTP2)
        slots = ConnectionSlots(limit: maxConnectionsPerHost, clock: clock)
        pool = ConnectionPool(limit: max(256, maxConnectionsPerHost), clock: clock)
        connector = Connector(
            unixSocketPath: unixSocketPath, clock: clock, authorities: authorities,
            environment: environment ?? ProxyVariables.current)
    }

    public var capabilities: TransportCapabilities {
        TLSContext.isSupported ? [.proxy, .httpVersions, .pinning, .tls] : [.proxy, .httpVersions]
    }

    /// Acquires a slot of the host, gets a connection, and runs an exchange over it.
    public func send(_ request: TransportRequest) async throws -> PulseResponse {
        let start = pulse_monotonic_now()
        guard let url = request.urlRequest.url, let origin = Origin(url) else {
            throw PulseError.invalidURL("an http or https URL with a host is needed")
        }
        try request.validate()
        let slot = try await slots.slot(origin, for: request)
        var file: FileSource?
        if case .file(let url) = request.body { file = try await FileSource(url) }
        var exchange = try SocketExchange(
            request, url, origin, file, connector, pool, offersHTTP2: offersHTTP2, startedAt: start)
        exchange.isBatched = underWay.wrappingAdd(1, ordering: .relaxed).oldValue >= few
        defer { underWay.wrappingSubtract(1, ordering: .relaxed) }
        var wasTold = false
        while true {
            // An idle connection needs no wait, which would notice a cancellation. A request that was woken for a
            // stream slot takes the slot even if cancelled, and releases it.
            if !wasTold { try Task.checkCancellation() }
            wasTold = false
            var outcome: PulseResponse?
            switch try exchange.next() {
            case .reuse(let pooled):
                outcome = try await exchange.send(over: pooled, holding: slot)
            case .share(let sharing):
                outcome = try await exchange.send(over: sharing, holding: slot)
            case .wait(let id):
                let waited = try await pool.wait(id, for: exchange.key, within: exchange.connectTimeout)
                exchange.waited += waited
                wasTold = true
            case .open(let offersHTTP2, let isAwaited):
                switch try await exchange.open(offersHTTP2: offersHTTP2, isAwaited: isAwaited, over: sockets) {
                case .http1(let pooled, let timings):
                    outcome = try await exchange.send(over: pooled, timings, holding: slot)
                case .http2(let sharing, let timings):
                    outcome = try await exchange.send(over: sharing, timings, holding: slot)
                }
            }
            // Nothing was sent over a stale connection, so another one can replace it.
            guard var response = outcome else { continue }
            response.latency = pulse_monotonic_now() - start
            return response
        }
    }

    /// The event loop, started on first use. Throws `CancellationError` after shutdown, and ``TransportFailure`` if the
    /// system has no descriptors left.
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
        let sockets = state.withLock { state in
            state.isShutDown = true
            return state.sockets.take()
        }
        slots.shutdown()
        pool.close()
        connector.shutdown()
        await sockets?.shutdown()
    }
}
#endif
