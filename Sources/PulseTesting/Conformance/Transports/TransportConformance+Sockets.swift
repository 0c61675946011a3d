// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseNetworking
import PulseTesting

extension TransportConformance {
    /// The conformance of a client's default transport on Linux: nothing is excluded.
    package static let standardTransport = TransportConformance("Default", timeLimit: 600) {
        maxConnectionsPerHost in
        let limit = maxConnectionsPerHost
        return StandardTransport(PulseConfiguration().with(\.maxConnectionsPerHost, value: limit))
    }

    /// The conformance of `SocketTransport` over TLS, where it offers HTTP/2 to a server that speaks only HTTP/1.1.
    package static let socketTransportOverTLS = TransportConformance(
        "SocketTransport over TLS", timeLimit: 600, tls: try? .generated()
    ) { maxConnectionsPerHost in
        SocketTransport(maxConnectionsPerHost: maxConnectionsPerHost)
    }
}
#endif
