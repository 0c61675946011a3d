// SPDX-License-Identifier: MIT

/// When the phases of one exchange ended, in seconds from its start, as far as the transport measures them.
public struct TransferTimings: Sendable, Hashable {
    /// Until a connection slot was free.
    public var queued: TimeInterval?
    public var nameResolved: TimeInterval?
    public var connected: TimeInterval?
    public var secured: TimeInterval?
    public var requestSent: TimeInterval?
    public var firstByte: TimeInterval?
    public var lastByte: TimeInterval?
    public var isConnectionReused: Bool?
    /// ALPN's name of the protocol: `http/1.1`, `h2`.
    public var networkProtocol: String?
    public var remoteAddress: String?
    /// The body's bytes on the wire, before decompression.
    public var bytesReceived: Int64?
    /// The body's bytes after decompression.
    public var bytesDecoded: Int64?

    public init() {}
}
