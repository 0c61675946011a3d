// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore
import Synchronization

/// HTTP/1.1 in cleartext, and over TLS where the server or the configuration allows nothing newer, over the connections
/// of a ``Connector``. libcurl takes all other requests.
final class HTTP1Transport: Transport {
    /// Up to this number of exchanges, each sends by itself, which saves waking the loop. With more, the loop batches
    /// the sends, because the code of calls and of the kernel's send path exceeds a processor's first-level caches. The
    /// row `32 in flight` of `Benchmarks/transports` falls by a fifth without that.
    static let few = 4

    let pool: HTTP1ConnectionPool?
    private let curl: CurlTransport
    /// Whether no environment variable names a proxy.
    let hasNoProxyAround = !CurlProxy.isInEnvironment
    private let few: Int
    private let servers: HTTP1Servers
    /// The number of exchanges under way, including those that have no connection yet.
    private let underWay = Atomic(0)

    /// - Parameters:
    ///   - few: ``few``, except in tests.
    ///   - price: ``HTTP1Servers/price``, except in tests.
    init(over curl: CurlTransport, few: Int = few, price: Int = HTTP1Servers.price) {
        self.curl = curl
        self.few = few
        servers = HTTP1Servers(price: price)
        pool = HTTP1ConnectionPool(limit: curl.connections)
    }

    var capabilities: TransportCapabilities { curl.capabilities }

    func send(_ request: TransportRequest) async throws -> PulseResponse {
        let start = pulse_monotonic_now()
        // libcurl says what is wrong with the URL.
        guard let url = request.urlRequest.url, let origin = Origin(url) else { return try await curl.send(request) }
        let slot = try await curl.slots.slot(origin, for: request)
        let isForEngine =
            origin.scheme != "https"
            || (request.httpVersions == .http1 || servers.contains(origin)) && curl.connects(request, isSecure: true)
        var file: FileSource?
        if isForEngine, case .file(let url) = request.body { file = try await FileSource(url) }
        let exchange = try isForEngine ? exchange(request, url, origin, file, startedAt: start) : nil
        var response =
            if let exchange, let response = try await run(exchange, for: request, holding: slot) { response } else {
                try await send(request, url, origin, holding: slot, startedAt: start)
            }
        response.latency = pulse_monotonic_now() - start
        return response
    }

    /// Nil for a request that libcurl must handle.
    private func exchange(
        _ request: TransportRequest, _ url: URL, _ origin: Origin, _ file: FileSource?, startedAt: TimeInterval
    ) throws -> HTTP1Exchange? {
        let feed = try request.feed(file, beyond: HTTP1Request.inlineLimit)
        guard let outgoing = try HTTP1Request(request, url, origin, feed, hasNoProxyAround: hasNoProxyAround) else {
            return nil
        }
        return try HTTP1Exchange(request, outgoing, feed, origin, self, startedAt: startedAt)
    }

    /// Nil without an idle connection, if the exchange is not worth another one.
    private func run(
        _ exchange: HTTP1Exchange, for request: TransportRequest, holding slot: HostSlots.Slot
    ) async throws -> PulseResponse? {
        let isBatched = underWay.wrappingAdd(1, ordering: .relaxed).oldValue >= few
        defer { underWay.wrappingSubtract(1, ordering: .relaxed) }
        return try await exchange.run(isBatched: isBatched, holding: slot) {
            exchange.origin.scheme != "https" || request.httpVersions == .http1 || servers.pays(for: exchange.origin)
        }
    }

    private func send(
        _ request: TransportRequest, _ url: URL, _ origin: Origin, holding slot: HostSlots.Slot, startedAt: TimeInterval
    ) async throws -> PulseResponse {
        let response = try await curl.send(request, url, origin, holding: slot, startedAt: startedAt)
        if origin.scheme == "https", request.httpVersions == .automatic, request.delivery != .upgrade {
            servers.note(origin, speaks: response.timings?.networkProtocol)
        }
        return response
    }

    func shutdown() async {
        pool?.close()
        await curl.shutdown()
    }
}

extension HTTP1Transport: HTTP1Connector {
    func open(
        to server: String, isSecure: Bool, for request: TransportRequest, queued: TimeInterval
    ) async throws -> HTTP1Opening {
        try await curl.open(to: server, isSecure: isSecure, for: request, queued: queued)
    }
}

/// The servers that agree on no more than HTTP/1.1 over TLS, and whether a connection of the engine pays there.
///
/// libcurl finds out what a server speaks, and keeps that connection: the engine needs another handshake.
struct HTTP1Servers: Sendable {
    /// The number of requests that gain about as much through the engine as a handshake costs.
    static let price = 32
    private static let limit = 256

    private let price: Int
    /// The number of libcurl's requests to each server since the last connection of the engine.
    private let counts = Locked<[Origin: Int]>([:])

    init(price: Int = price) {
        self.price = price
    }

    func contains(_ origin: Origin) -> Bool {
        counts.withLock { !$0.isEmpty && $0[origin] != nil }
    }

    func note(_ origin: Origin, speaks version: String?) {
        counts.withLock { counts in
            if version == "http/1.1" {
                // The servers show again what they speak.
                if counts.count >= Self.limit, counts[origin] == nil { counts.removeAll() }
                counts[origin, default: 0] += 1
            } else if !counts.isEmpty {
                counts[origin] = nil
            }
        }
    }

    /// Whether the requests to that server have paid for a connection, which is then theirs.
    func pays(for origin: Origin) -> Bool {
        counts.withLock { counts in
            guard let count = counts[origin], count >= price else { return false }
            counts[origin] = count - price
            return true
        }
    }
}
#endif
