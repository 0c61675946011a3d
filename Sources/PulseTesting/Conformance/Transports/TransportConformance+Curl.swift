// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore
import PulseNetworking

extension TransportConformance {
    /// The conformance of `CurlTransport`: nothing is excluded.
    package static let curlTransport = TransportConformance("CurlTransport", timeLimit: 60) {
        maximumConnectionsPerHost in
        CurlTransport(maximumConnectionsPerHost: maximumConnectionsPerHost)
    }
}
#endif
