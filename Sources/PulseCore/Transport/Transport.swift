// SPDX-License-Identifier: MIT

/// Sends one request over the wire and returns the response.
///
/// ```swift
/// struct OfflineTransport: Transport {
///     func send(_ request: TransportRequest) async throws -> PulseResponse {
///         throw TransportFailure(code: .notConnectedToInternet, phase: .beforeSend)
///     }
/// }
/// ```
///
/// A transport does not retry, follow redirects, cache, store cookies, decode values or validate statuses; it does
/// decode the content coding. Its engine must not send a request twice: a kept-alive connection that ends before the
/// first byte of the response is a failure with ``TransportFailure/isStaleConnection``. A connection that is found
/// closed before any byte of the request was sent may be replaced. Cancelling the task cancels the transfer
/// immediately. A network failure throws ``TransportFailure``, which says how far the request got.
public protocol Transport: Sendable {
    /// The policies of a request that the transport can enforce; none by default. A request that needs more is refused
    /// with ``PulseError/unsupported(_:)`` before it reaches the transport.
    var capabilities: TransportCapabilities { get }
    /// Sends the request and returns the response, with the body delivered as ``TransportRequest/delivery`` says.
    /// Called concurrently. Throws ``TransportFailure`` or ``PulseError``.
    func send(_ request: TransportRequest) async throws -> PulseResponse
    /// Ends all transfers and frees threads and sockets; nothing is sent afterwards. Does nothing by default.
    func shutdown() async
}

extension Transport {
    public var capabilities: TransportCapabilities { [] }
    public func shutdown() async {}
}

/// The policies that a transport can enforce.
public struct TransportCapabilities: OptionSet, Sendable {
    /// The bits of the set.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Public key pins.
    public static let pinning = TransportCapabilities(rawValue: 1 << 0)
    /// Custom certificate authorities, client certificates, and a minimum TLS version.
    public static let tls = TransportCapabilities(rawValue: 1 << 1)
    /// A proxy other than the environment's.
    public static let proxy = TransportCapabilities(rawValue: 1 << 2)
    /// A restriction of the HTTP versions.
    public static let httpVersions = TransportCapabilities(rawValue: 1 << 4)
    /// No network at all: every policy counts as satisfied.
    public static let simulated = TransportCapabilities(rawValue: 1 << 3)

    // Limitations, not capabilities: a transport that declares nothing has none of them.
    /// Bodies are not streamed at the pace of their reader.
    package static let noStreams = TransportCapabilities(rawValue: 1 << 16)
    /// Connecting counts as idle time.
    package static let noConnectTimeout = TransportCapabilities(rawValue: 1 << 17)
    /// Nothing is retried, whatever an endpoint, a call or a plugin says.
    package static let noRetries = TransportCapabilities(rawValue: 1 << 18)
}
