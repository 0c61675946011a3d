// SPDX-License-Identifier: MIT

/// Sends one request over the wire and gives the answer.
///
/// A transport does not retry, follow redirects, cache, keep cookies, decode values or judge statuses; it does undo the
/// content coding. Cancelling the task cancels the wire at once. It throws ``TransportFailure`` for a failed wire, so
/// that the caller knows how far the request got.
public protocol Transport: Sendable {
    /// What of a request's policies it can enforce; a request that needs more is refused before it gets here.
    var capabilities: TransportCapabilities { get }
    func send(_ request: TransportRequest) async throws -> PulseResponse
    /// Ends all that is under way and frees threads and sockets. Nothing is sent afterwards.
    func shutdown() async
}

extension Transport {
    public var capabilities: TransportCapabilities { [] }
    public func shutdown() async {}
}

/// What a transport can enforce.
public struct TransportCapabilities: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Public key pins.
    public static let pinning = TransportCapabilities(rawValue: 1 << 0)
    /// Own certificate authorities, client certificates, a minimum version.
    public static let tls = TransportCapabilities(rawValue: 1 << 1)
    /// A proxy other than the environment's.
    public static let proxy = TransportCapabilities(rawValue: 1 << 2)
    /// There is no wire: every policy is satisfied.
    public static let simulated = TransportCapabilities(rawValue: 1 << 3)
}
