// SPDX-License-Identifier: MIT

public import PulseCore
import PulseObservability
import PulseStorage

extension PulseClient {
    /// A client for previews that sends nothing: the closure returns the response to each request.
    ///
    /// It has its own event bus, and neither retries nor stores anything. Relative paths resolve against a host that
    /// does not exist.
    ///
    /// - Parameter respond: nil for a client whose every call fails with ``PulseError/unsupported(_:)``. It runs once
    ///   for each request, redirects included.
    public static func preview(
        _ respond: (@Sendable (URLRequest) async throws -> PulseResponse)? = nil
    ) -> PulseClient {
        var configuration = PulseConfiguration()
        // The domain is reserved: no server can have it (RFC 6761, section 6.4).
        configuration.baseURL = URL(string: "https://preview.invalid")
        configuration.retryPolicy = .never
        configuration.connectivity = ManualConnectivityMonitor()
        return PulseClient(
            configuration: configuration, transport: PreviewTransport(respond: respond), events: PulseEventBus())
    }
}

/// The transport of a client for previews.
struct PreviewTransport: Transport {
    let respond: (@Sendable (URLRequest) async throws -> PulseResponse)?

    var capabilities: TransportCapabilities { [.simulated, .noRetries] }

    func send(_ request: TransportRequest) async throws -> PulseResponse {
        guard let respond else { throw PulseError.unsupported("a client for previews sends nothing") }
        if case .upgrade = request.delivery { throw PulseError.unsupported("a client for previews opens no socket") }
        let response = try await respond(request.urlRequest)
        try Task.checkCancellation()
        return try await SimulatedDelivery(request).deliver(response)
    }
}
