// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
public import PulseCore

/// The transport over the system's libcurl: the default on Linux.
///
/// One thread waits for all requests, which share connections, resolved names and TLS sessions. HTTP/2 is used where a
/// server offers it over TLS. The transport supports all bodies and all deliveries except `.upgrade`. It enforces TLS
/// settings, proxies, and pins over the verified chain. libcurl 7.68 or later is loaded at run time; without it
/// ``isSupported`` is false, and every request fails with ``PulseError/unsupported(_:)``.
public final class CurlTransport: Transport {
    /// Whether the system has a libcurl that this transport can use.
    public static var isSupported: Bool { CurlLibrary.system != nil }

    private struct State {
        var loop: CurlLoop?
        var nextID: UInt64 = 0
        var isShutDown = false
    }

    private let library: CurlLibrary?
    private let slots: HostSlots
    private let connections: Int
    private let unixSocketPath: String?
    private let leavesAllToCurl: Bool
    private let few: Int
    private let state = Locked(State())

    /// A transport over libcurl, whose thread starts with the first request and ends with ``shutdown()``.
    ///
    /// - Parameter maximumConnectionsPerHost: requests to one host at a time, 64 by default on Linux. More requests
    ///   wait in order; the wait counts toward no timeout except the deadline.
    /// - Parameter unixSocketPath: all requests go to this socket, whatever host and port their URLs name. Nil by
    ///   default.
    public convenience init(
        maximumConnectionsPerHost: Int = PulseConfiguration().maximumConnectionsPerHost, unixSocketPath: String? = nil
    ) {
        self.init(maximumConnectionsPerHost, unixSocketPath, library: .system)
    }

    /// - Parameter library: the assumed capabilities of the loaded libcurl.
    /// - Parameter leavesAllToCurl: for tests: whether libcurl also handles cleartext HTTP.
    /// - Parameter few: for tests: the number of cleartext requests up to which each task sends its own.
    init(
        _ maximumConnectionsPerHost: Int, _ unixSocketPath: String? = nil, library: CurlLibrary?,
        leavesAllToCurl: Bool = false, few: Int = HTTP1ConnectionPool.few
    ) {
        self.few = few
        self.leavesAllToCurl =
            leavesAllToCurl || unixSocketPath != nil || library?.handsConnectionsOver != true || !pulse_deflate_load()
        self.library = library
        self.unixSocketPath = unixSocketPath
        slots = HostSlots(limit: maximumConnectionsPerHost)
        connections = max(256, maximumConnectionsPerHost)
    }

    public var capabilities: TransportCapabilities { library?.capabilities ?? [] }

    public func send(_ request: TransportRequest) async throws -> PulseResponse {
        guard let library else { throw PulseError.unsupported("there is no libcurl of version 7.68 or later") }
        guard let url = request.urlRequest.url, let origin = Origin(url) else {
            throw PulseError.invalidURL("an http or https URL with a host is needed")
        }
        if case .upgrade = request.delivery { throw PulseError.unsupported("CurlTransport makes no upgrades") }
        let start = pulse_monotonic_now()
        let slot = try await slots.slot(origin, for: request)
        let (loop, id) = try nextTransfer(library)
        if !leavesAllToCurl,
            let exchange = try HTTP1Exchange(request, url, origin, loop, startedAt: start)
        {
            defer { withExtendedLifetime(slot) {} }
            var response = try await exchange.run(id: id)
            response.latency = pulse_monotonic_now() - start
            return response
        }
        let exchange = try CurlExchange(request, url, origin, unixSocketPath, loop, id: id)
        let queued = pulse_monotonic_now() - start
        var response = try await exchange.run(queued: queued, holding: slot)
        response.latency = pulse_monotonic_now() - start
        return response
    }

    /// The number of requests to the URL's origin that wait for a slot.
    func waiterCount(_ url: URL) -> Int {
        Origin(url).map { slots.waiterCount($0) } ?? 0
    }

    public func shutdown() async {
        let loop = state.withLock { state in
            state.isShutDown = true
            defer { state.loop = nil }
            return state.loop
        }
        slots.shutdown()
        await loop?.shutdown()
    }

    /// The loop, started by the first request, and a number for a transfer. Throws `CancellationError` after shutdown.
    private func nextTransfer(_ library: CurlLibrary) throws -> (CurlLoop, UInt64) {
        try state.withLock { state in
            guard !state.isShutDown else { throw CancellationError() }
            let loop = try state.loop ?? CurlLoop(library, connections: connections, few: few)
            state.loop = loop
            state.nextID += 1
            return (loop, state.nextID)
        }
    }
}
#endif
