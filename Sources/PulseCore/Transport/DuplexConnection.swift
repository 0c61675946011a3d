// SPDX-License-Identifier: MIT

/// A connection that carries bytes in both directions, such as the socket behind a status 101.
///
/// One task may read while another writes. Cancelling a task that reads throws `CancellationError` and loses no bytes.
/// Cancelling a task that waits to write closes the connection if a part of its bytes may be sent; else none is sent.
/// The connection closes when it is released. Safe to use from any thread.
public protocol DuplexConnection: AnyObject, Sendable {
    /// The peer's IP address; nil if it is not known.
    var remoteAddress: String? { get }
    /// Waits for bytes and returns them; nil once the peer has ended its direction. Nothing is read ahead, so a slow
    /// reader holds the peer back. Throws ``TransportFailure``, or ``PulseError/invalidRequest(reason:)`` if another
    /// task reads.
    func read() async throws -> Data?
    /// Returns when the system has taken all bytes. Throws ``TransportFailure``, with the phase `.beforeSend` if it has
    /// taken none of them, or ``PulseError/invalidRequest(reason:)`` if another task writes.
    func write(_ bytes: Data) async throws
    /// Ends this side's direction after the bytes that are being written: the peer reads the end, and may still send.
    /// Later writes fail.
    func finishWriting()
    /// Closes both directions. Waiting reads and writes, and all later ones, throw `CancellationError`. May be called
    /// again.
    func close()
}
