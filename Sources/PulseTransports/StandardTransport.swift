// SPDX-License-Identifier: MIT

public import PulseCore

/// The default transport of a client: ``SocketTransport`` on Linux, ``URLSessionTransport`` elsewhere.
///
/// Use it to wrap a transport on every platform, for example in a cassette recorder.
///
/// ```swift
/// let cassettes = CassetteRecorder(around: StandardTransport(configuration))
/// let client = PulseClient(configuration: configuration, transport: cassettes)
/// ```
public struct StandardTransport: Transport {
    package let base: any Transport

    /// Creates the transport for a client with this configuration, of which it uses
    /// ``PulseConfiguration/maxConnectionsPerHost``.
    public init(_ configuration: PulseConfiguration = PulseConfiguration()) {
        #if os(Linux)
        base = SocketTransport(maxConnectionsPerHost: configuration.maxConnectionsPerHost)
        #else
        base = URLSessionTransport(maxConnectionsPerHost: configuration.maxConnectionsPerHost)
        #endif
    }

    public var capabilities: TransportCapabilities { base.capabilities }

    public func send(_ request: TransportRequest) async throws -> PulseResponse { try await base.send(request) }

    public func shutdown() async { await base.shutdown() }
}
