// SPDX-License-Identifier: MIT

/// A connection that carries bytes in both directions, such as the socket after a 101 response.
///
/// One task may read while another writes. Cancelling a task that reads throws `CancellationError` and loses no bytes.
/// Cancelling a task that waits to write closes the connection if some of its bytes may have been sent; otherwise none
/// are. The connection closes when it is released. Safe to use from any thread.
public protocol DuplexConnection: AnyObject, Sendable {
    /// The peer's IP address; nil if it is not known.
    var remoteAddress: String? { get }
    /// Waits for bytes and returns them; nil once the peer has ended its direction. Nothing is read ahead, so a slow
    /// reader exerts backpressure on the peer. Throws ``TransportFailure``, or ``PulseError/invalidRequest(reason:)``
    /// if another task reads.
    func read() async throws -> Data?
    /// Returns when the system has accepted all bytes. Throws ``TransportFailure``, with the phase `.beforeSend` if it
    /// has accepted none of them, or ``PulseError/invalidRequest(reason:)`` if another task writes.
    func write(_ bytes: Data) async throws
    /// Ends this side's direction after pending writes: the peer reads the end, and may still send. Later writes fail.
    /// TLS on Linux cannot end one direction, so the peer does not see the end.
    func finishWriting()
    /// Closes both directions. Waiting reads and writes, and all later ones, throw `CancellationError`. May be called
    /// again.
    func close()
}
