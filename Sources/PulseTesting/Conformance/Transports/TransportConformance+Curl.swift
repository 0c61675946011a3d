// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore
import PulseNetworking

extension TransportConformance {
    /// How `CurlTransport` stands to the list: nothing is excluded.
    package static let curlTransport = TransportConformance("CurlTransport", timeLimit: 60) {
        maximumConnectionsPerHost in
        CurlTransport(maximumConnectionsPerHost: maximumConnectionsPerHost)
    }
}
#endif
