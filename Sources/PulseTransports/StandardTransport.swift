// SPDX-License-Identifier: MIT

public import PulseCore

/// The transport of a client that is given none: ``SocketTransport`` on Linux, ``URLSessionTransport`` elsewhere.
///
/// For code that wraps a transport, such as a recorder of cassettes, on every platform.
public struct StandardTransport: Transport {
    package let base: any Transport

    /// Creates the transport of a client with that configuration, of which it uses
    /// ``PulseConfiguration/maximumConnectionsPerHost``.
    public init(_ configuration: PulseConfiguration = PulseConfiguration()) {
        #if canImport(CPulsePlatform)
        base = SocketTransport(maximumConnectionsPerHost: configuration.maximumConnectionsPerHost)
        #else
        base = URLSessionTransport(maximumConnectionsPerHost: configuration.maximumConnectionsPerHost)
        #endif
    }

    public var capabilities: TransportCapabilities { base.capabilities }

    public func send(_ request: TransportRequest) async throws -> PulseResponse { try await base.send(request) }

    public func shutdown() async { await base.shutdown() }
}
