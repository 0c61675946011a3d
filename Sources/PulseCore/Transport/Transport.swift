// SPDX-License-Identifier: MIT

/// Sends one request over the wire and returns the answer.
///
/// A transport does not retry, follow redirects, cache, keep cookies, decode values or judge statuses; it does undo the
/// content coding. Nor does it let its engine send a request twice: a kept-alive connection that ends before a byte of
/// the response is a failure with ``TransportFailure/isStaleConnection``. A connection that is found closed before a
/// byte of the request left may be replaced. Cancelling the task cancels the wire at once. If the wire fails it throws
/// ``TransportFailure``, which says how far the request got.
public protocol Transport: Sendable {
    /// The policies of a request that the transport can enforce; none by default. A request that needs more is refused
    /// with ``PulseError/unsupported(_:)`` before it gets here.
    var capabilities: TransportCapabilities { get }
    /// Sends the request and returns the answer, whose body comes as ``TransportRequest/delivery`` says. Called
    /// concurrently. Throws ``TransportFailure`` or ``PulseError``.
    func send(_ request: TransportRequest) async throws -> PulseResponse
    /// Ends everything under way and frees threads and sockets; nothing is sent afterwards. Does nothing by default.
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

    /// Pins of public keys.
    public static let pinning = TransportCapabilities(rawValue: 1 << 0)
    /// Custom certificate authorities, client certificates, and a minimum TLS version.
    public static let tls = TransportCapabilities(rawValue: 1 << 1)
    /// A proxy other than that of the environment.
    public static let proxy = TransportCapabilities(rawValue: 1 << 2)
    /// No wire at all: every policy counts as satisfied.
    public static let simulated = TransportCapabilities(rawValue: 1 << 3)
}
