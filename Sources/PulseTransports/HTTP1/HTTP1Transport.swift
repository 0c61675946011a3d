// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore
import Synchronization

/// HTTP/1.1 in cleartext, and over TLS where nothing newer may be used, for requests with a small body and a buffered
/// response; and upgrades in cleartext. libcurl opens the connections, and takes all other requests.
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
    /// The number of exchanges under way, including those that have no connection yet.
    private let underWay = Atomic(0)

    /// - Parameter few: ``few``, except in tests.
    init(over curl: CurlTransport, few: Int = few) {
        self.curl = curl
        self.few = few
        pool = HTTP1ConnectionPool(limit: curl.connections)
    }

    var capabilities: TransportCapabilities { curl.capabilities }

    func send(_ request: TransportRequest) async throws -> PulseResponse {
        let start = pulse_monotonic_now()
        guard let exchange = try HTTP1Exchange(request, self, startedAt: start) else {
            return try await curl.send(request)
        }
        let slot = try await curl.slots.slot(exchange.origin, for: request)
        let isBatched = underWay.wrappingAdd(1, ordering: .relaxed).oldValue >= few
        defer {
            underWay.wrappingSubtract(1, ordering: .relaxed)
            withExtendedLifetime(slot) {}
        }
        var response = try await exchange.run(isBatched: isBatched)
        response.latency = pulse_monotonic_now() - start
        return response
    }

    func shutdown() async {
        pool?.close()
        await curl.shutdown()
    }
}

extension HTTP1Exchange {
    /// Nil for a request that libcurl must handle.
    fileprivate init?(_ request: TransportRequest, _ transport: HTTP1Transport, startedAt: TimeInterval) throws {
        guard let url = request.urlRequest.url, let origin = Origin(url),
            let outgoing = try HTTP1Request(
                request, url, origin, hasNoProxyAround: transport.hasNoProxyAround)
        else { return nil }
        try self.init(request, outgoing, origin, transport, startedAt: startedAt)
    }
}

extension HTTP1Transport: HTTP1Connector {
    func open(
        to server: String, isSecure: Bool, for request: TransportRequest, queued: TimeInterval
    ) async throws -> (connection: any ReusableConnection, timings: TransferTimings) {
        // Over TLS a connection stays with the handle that has made it.
        if isSecure { return try await curl.open(to: server, isSecure: true, for: request, queued: queued) }
        let sockets = try curl.sockets()
        let made = try await curl.connect(to: server, for: request, queued: queued)
        let connection = try sockets.connection(made.channel, remoteAddress: made.timings.remoteAddress)
        return (connection, made.timings)
    }
}
#endif
