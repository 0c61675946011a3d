// SPDX-License-Identifier: MIT

/// When the phases of one exchange ended, in seconds from its start. A phase that did not happen, or that the transport
/// does not measure, is nil.
public struct TransferTimings: Sendable, Hashable {
    /// When a connection slot was free.
    public var queued: TimeInterval?
    /// When the host's name was resolved; nil on a reused connection.
    public var nameResolved: TimeInterval?
    /// When the TCP connection was open; nil on a reused connection.
    public var connected: TimeInterval?
    /// When the TLS handshake was done; nil on a reused connection and without TLS.
    public var secured: TimeInterval?
    /// When the request was sent, body included.
    public var requestSent: TimeInterval?
    /// When the first byte of the answer arrived.
    public var firstByte: TimeInterval?
    /// When the last byte of the answer arrived; nil if it has not, as at the head of a stream.
    public var lastByte: TimeInterval?
    /// Whether the request went over a connection that was open already.
    public var isConnectionReused: Bool?
    /// The protocol by its ALPN name: `http/1.1`, `h2`, `h3`.
    public var networkProtocol: String?
    /// The IP address of the peer: the server, or a proxy.
    public var remoteAddress: String?
    /// The bytes of the body on the wire, before decompression.
    public var bytesReceived: Int64?
    /// The bytes of the body after decompression.
    public var bytesDecoded: Int64?

    /// Creates timings with nothing measured.
    public init() {}
}
