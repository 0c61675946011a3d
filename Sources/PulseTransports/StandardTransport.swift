// SPDX-License-Identifier: MIT

public import PulseCore

#if canImport(CPulsePlatform)
import CPulsePlatform
#endif

/// The transport of a client that is given none. On Linux with a usable libcurl this is ``CurlTransport``, with an
/// engine of its own for HTTP/1.1; elsewhere it is ``URLSessionTransport``.
///
/// For code that wraps a transport, such as a recorder of cassettes, on every platform.
public struct StandardTransport: Transport {
    package let base: any Transport
    /// A warning for developers about the choice; the same for every client of a process.
    let warning: String?

    /// Whether the warning was emitted in this process.
    private static let isReported = Locked(false)

    /// Creates the transport of a client with that configuration, of which it uses
    /// ``PulseConfiguration/maximumConnectionsPerHost``.
    public init(_ configuration: PulseConfiguration = PulseConfiguration()) {
        #if canImport(CPulsePlatform)
        self.init(configuration, library: .system)
        #else
        base = URLSessionTransport(maximumConnectionsPerHost: configuration.maximumConnectionsPerHost)
        warning = nil
        #endif
    }

    public var capabilities: TransportCapabilities { base.capabilities }

    public func send(_ request: TransportRequest) async throws -> PulseResponse { try await base.send(request) }

    public func shutdown() async { await base.shutdown() }

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
        if let library {
            let curl = CurlTransport(connections, library: library)
            base = pulse_deflate_load() ? HTTP1Transport(over: curl) : curl
            warning = nil
        } else {
            base = URLSessionTransport(maximumConnectionsPerHost: connections)
            warning = Self.fallbackWarning
        }
    }

    static let fallbackWarning =
        "there is no libcurl.so.4 of version 7.68 or later: URLSessionTransport is used, which is slower and cannot pin"
}
#endif
