// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

/// Moves the bytes of a connection, over its socket or over TLS.
///
/// It never blocks. Only one task at a time may use it.
struct SocketChannel: Sendable {
    enum Outcome {
        case bytes(Int)
        case end
        /// Nothing moved; the loop reports when that may change.
        case blocked
        case failed(URLError.Code, underlying: (any Error)?)
    }

    let descriptor: Int32
    /// Nil in cleartext.
    private let session: TLSSession?

    /// A cleartext socket, which the channel closes.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        session = nil
    }

    /// TLS over a socket, both of which the channel closes.
    init(_ session: TLSSession) {
        descriptor = session.descriptor
        self.session = session
    }

    /// Whether bytes that have left the socket may be buffered here, and whether a read may have to wait for room or a
    /// write for bytes, as in TLS.
    var isIndirect: Bool { session != nil }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        if let session { return session.receive(into: buffer) }
        let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        return count == 0 ? .end : Self.outcome(count)
    }

    /// Sends some of the bytes. After `.blocked` the next call must begin with the same ones.
    func send(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        session?.send(bytes) ?? Self.outcome(pulse_socket_send(descriptor, bytes.baseAddress, bytes.count))
    }

    /// Whether a part of the bytes of a blocked or failed send may have been sent, or will be.
    var mayHaveSent: Bool { session?.mayHaveSent == true }

    /// Whether the socket is open with nothing to read.
    var isSilent: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        return count < 0 && Self.isBlocked(errno)
    }

    /// Whether nothing can be read before the next request is sent. Any byte read here is lost: the connection then
    /// ends.
    ///
    /// Over TLS the socket may have a ticket or a key update, which is no end, and an alert may have left the socket.
    var isIdle: Bool {
        guard isIndirect else { return isSilent }
        var byte: UInt8 = 0
        let outcome = withUnsafeMutableBytes(of: &byte) { receive(into: $0) }
        return if case .blocked = outcome { true } else { false }
    }

    /// Ends this side's direction, if that is possible without ending the other one: in TLS 1.2 the alert would end
    /// both.
    func finishWriting() {
        if session == nil { shutdown(descriptor, Int32(SHUT_WR)) }
    }

    func close(_ poller: pulse_poller) {
        session?.close()
        pulse_poller_close_socket(poller, descriptor)
    }

    private static func outcome(_ count: Int) -> Outcome {
        let number = errno
        guard count < 0 else { return .bytes(count) }
        return isBlocked(number) ? .blocked : .failed(.networkConnectionLost, underlying: error(number))
    }

    private static func isBlocked(_ number: Int32) -> Bool {
        number == EAGAIN || number == EWOULDBLOCK || number == EINTR
    }

    private static func error(_ number: Int32) -> POSIXError? {
        POSIXErrorCode(rawValue: number).map { POSIXError($0) }
    }
}
#endif
