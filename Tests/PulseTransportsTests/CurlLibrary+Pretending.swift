// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
@testable import PulseTransports

extension CurlLibrary {
    /// The loaded libcurl, presented as an earlier version.
    static func pretending(_ version: UInt32, readsVerifiedChain: Bool = true) -> CurlLibrary? {
        system.map {
            CurlLibrary(version: version, features: $0.features, readsVerifiedChain: readsVerifiedChain)
        }
    }
}
#endif
