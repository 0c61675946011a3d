// SPDX-License-Identifier: MIT

import PulseCore

/// The transport of a client that was given none: `CurlTransport` where there is a libcurl for it, else
/// `URLSessionTransport`.
package struct StandardTransport {
    package let transport: any Transport
    /// What a developer should know about the choice; it is the same for every client of a process.
    let warning: String?

    /// Whether the warning was told in this process.
    private static let isTold = Locked(false)

    package init(_ configuration: PulseConfiguration) {
        #if canImport(CPulsePlatform)
        self.init(configuration, library: .system)
        #else
        transport = URLSessionTransport(maximumConnectionsPerHost: configuration.maximumConnectionsPerHost)
        warning = nil
        #endif
    }

    /// Tells the warning, if there is one, to the first sink in the process that listens.
    package func warn(_ sink: any EventSink) {
        warn(sink, isTold: Self.isTold)
    }

    /// - Parameter isTold: those that share it are told once.
    func warn(_ sink: any EventSink, isTold: Locked<Bool>) {
        guard let warning, sink.isActive else { return }
        let isFirst = isTold.withLock { isTold in
            defer { isTold = true }
            return !isTold
        }
        if isFirst { sink.emit(.warning(warning)) }
    }
}

#if canImport(CPulsePlatform)
extension StandardTransport {
    /// - Parameter library: nil for a system without one that can be used.
    init(_ configuration: PulseConfiguration, library: CurlLibrary?) {
        let connections = configuration.maximumConnectionsPerHost
        if library != nil {
            transport = CurlTransport(connections, library: library)
            warning = nil
        } else {
            transport = URLSessionTransport(maximumConnectionsPerHost: connections)
            warning = Self.fallbackWarning
        }
    }

    static let fallbackWarning =
        "there is no libcurl.so.4 of version 7.68 or later: URLSessionTransport is used, which is slower and cannot pin"
}
#endif
