// SPDX-License-Identifier: MIT

import PulseCore

/// The default transport of a client: `CurlTransport` where a usable libcurl is present, otherwise
/// `URLSessionTransport`.
package struct StandardTransport {
    package let transport: any Transport
    /// A warning for developers about the choice; the same for every client of a process.
    let warning: String?

    /// Whether the warning was emitted in this process.
    private static let isReported = Locked(false)

    package init(_ configuration: PulseConfiguration) {
        #if canImport(CPulsePlatform)
        self.init(configuration, library: .system)
        #else
        transport = URLSessionTransport(maximumConnectionsPerHost: configuration.maximumConnectionsPerHost)
        warning = nil
        #endif
    }

    /// Emits the warning, if any, to the first listening sink in the process.
    package func warn(_ sink: any EventSink) {
        warn(sink, isReported: Self.isReported)
    }

    /// - Parameter isReported: shared by all sinks that together get one warning.
    func warn(_ sink: any EventSink, isReported: Locked<Bool>) {
        guard let warning, sink.isActive else { return }
        let isFirst = isReported.withLock { isReported in
            defer { isReported = true }
            return !isReported
        }
        if isFirst { sink.emit(.warning(warning)) }
    }
}

#if canImport(CPulsePlatform)
extension StandardTransport {
    /// - Parameter library: nil for a system without a usable one.
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
