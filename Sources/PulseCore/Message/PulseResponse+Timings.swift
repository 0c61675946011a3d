// SPDX-License-Identifier: MIT

extension PulseResponse {
    /// When the phases of one transfer ended, in seconds from its start. A phase that did not happen, or that the
    /// transport does not measure, is nil.
    public struct Timings: Sendable, Hashable {
        /// When a connection slot became free.
        public var queued: TimeInterval?
        /// When the host's name was resolved; nil on a reused connection.
        public var nameResolved: TimeInterval?
        /// When the TCP connection was open; nil on a reused connection.
        public var connected: TimeInterval?
        /// When the TLS handshake was done; nil on a reused connection and without TLS.
        public var secured: TimeInterval?
        /// When the request was sent, body included.
        public var requestSent: TimeInterval?
        /// When the first byte of the response arrived.
        public var firstByte: TimeInterval?
        /// When the last byte of the response arrived; nil if it has not, as at the start of a stream.
        public var lastByte: TimeInterval?
        /// Whether the request used a connection that was already open.
        public var isConnectionReused: Bool?
        /// The ALPN name of the protocol: `http/1.1`, `h2`, `h3`.
        public var networkProtocol: String?
        /// The IP address of the peer: the server or a proxy.
        public var remoteAddress: String?
        /// The bytes of the body on the wire, before decompression.
        public var bytesReceived: Int64?
        /// The bytes of the body after decompression.
        public var bytesDecoded: Int64?

        /// Creates timings with nothing measured.
        public init() {}
    }
}
