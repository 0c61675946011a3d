// SPDX-License-Identifier: MIT

import PulseCore

/// The transport of a client that was given none: `CurlTransport` where there is a libcurl for it, else
/// `URLSessionTransport`.
struct StandardTransport {
    let transport: any Transport
    /// What a developer should know about the choice.
    let problems: [String]

    init(_ configuration: PulseConfiguration) {
        #if canImport(CPulsePlatform)
        self.init(configuration, library: .system)
        #else
        transport = URLSessionTransport(maximumConnectionsPerHost: configuration.maximumConnectionsPerHost)
        problems = []
        #endif
    }
}

#if canImport(CPulsePlatform)
extension StandardTransport {
    /// - Parameter library: nil for a system without one that can be used.
    init(_ configuration: PulseConfiguration, library: CurlLibrary?) {
        let connections = configuration.maximumConnectionsPerHost
        if library != nil {
            transport = CurlTransport(connections, library: library)
            problems = []
        } else {
            transport = URLSessionTransport(maximumConnectionsPerHost: connections)
            problems = Self.fallback.withLock { isTold in
                defer { isTold = true }
                return isTold ? [] : [Self.fallbackWarning]
            }
        }
    }

    static let fallbackWarning =
        "there is no libcurl.so.4 of version 7.68 or later: URLSessionTransport is used, which is slower and cannot pin"

    /// Whether this process has been told: it is the same for every client.
    private static let fallback = Locked(false)
}
#endif
