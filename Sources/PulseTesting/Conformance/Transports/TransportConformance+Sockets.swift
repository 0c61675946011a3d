// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore
import PulseNetworking

extension TransportConformance {
    /// The conformance of the transport that a client on Linux uses unless it is given another: nothing is excluded.
    package static let standardTransport = TransportConformance("Default", timeLimit: 600) {
        maximumConnectionsPerHost in
        let limit = maximumConnectionsPerHost
        return StandardTransport(PulseConfiguration().with(\.maximumConnectionsPerHost, value: limit))
    }

    /// The conformance of `SocketTransport` over TLS, where it offers HTTP/2 to a server that speaks HTTP/1.1 alone.
    package static let socketTransportOverTLS = TransportConformance(
        "SocketTransport over TLS", timeLimit: 600, tls: try? .generated()
    ) { maximumConnectionsPerHost in
        SocketTransport(maximumConnectionsPerHost: maximumConnectionsPerHost)
    }

    /// The conformance of the default transport over TLS if the configuration allows HTTP/1.1 alone.
    ///
    /// Made for each use: what a global refers to through `Data` is a leak to the address sanitizer.
    package static var engineOverTLS: TransportConformance {
        TransportConformance("Default over TLS, HTTP/1.1", timeLimit: 600, tls: try? .generated()) { limit in
            HTTP1Only(base: StandardTransport(PulseConfiguration().with(\.maximumConnectionsPerHost, value: limit)))
        }
    }

    private struct HTTP1Only: Transport {
        let base: StandardTransport

        var capabilities: TransportCapabilities { base.capabilities }

        func send(_ request: TransportRequest) async throws -> PulseResponse {
            var request = request
            request.httpVersions = .http1
            return try await base.send(request)
        }

        func shutdown() async {
            await base.shutdown()
        }
    }
}
#endif
