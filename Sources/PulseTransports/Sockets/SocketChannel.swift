// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// What moves the bytes of a connection: its socket, TLS over it, or the libcurl handle that has it.
///
/// Nothing here waits. One task at a time may use it.
struct SocketChannel: Sendable {
    enum Outcome {
        case bytes(Int)
        case end
        /// Nothing moved; the loop reports when that may change.
        case blocked
        case failed(URLError.Code, underlying: (any Error)?)
    }

    private enum Kind {
        case cleartext
        case tls(TLSSession)
        case link(CurlLink)
    }

    let descriptor: Int32
    private let kind: Kind

    /// A cleartext socket, which the channel closes.
    init(_ descriptor: Int32) {
        (self.descriptor, kind) = (descriptor, .cleartext)
    }

    /// TLS over a socket, both of which the channel closes.
    init(_ session: TLSSession) {
        (descriptor, kind) = (session.descriptor, .tls(session))
    }

    init(_ link: CurlLink) {
        (descriptor, kind) = (link.descriptor, .link(link))
    }

    /// Whether bytes may wait here that have left the socket, and whether a read may have to wait for room or a write
    /// for bytes, as in TLS.
    var isIndirect: Bool { if case .cleartext = kind { false } else { true } }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        switch kind {
        case .cleartext:
            let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            return count == 0 ? .end : Self.outcome(count)
        case .tls(let session): return session.receive(into: buffer)
        case .link(let link): return link.receive(into: buffer)
        }
    }

    /// Sends some of the bytes. After `.blocked` the next call must begin with the same ones.
    func send(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        switch kind {
        case .cleartext: Self.outcome(pulse_socket_send(descriptor, bytes.baseAddress, bytes.count))
        case .tls(let session): session.send(bytes)
        case .link(let link): link.send(bytes)
        }
    }

    /// Whether a part of the bytes of a blocked or failed send may be sent, or is bound to be.
    var mayHaveSent: Bool {
        switch kind {
        case .cleartext: false
        case .tls(let session): session.mayHaveSent
        case .link(let link): link.mayHaveSent
        }
    }

    /// Forgets the bytes of a blocked send, if ``mayHaveSent`` is false.
    func takeBack() {
        // TLS keeps no bytes that it has not encrypted.
        if case .link(let link) = kind { link.takeBack() }
    }

    /// Whether the socket is open with nothing to read.
    var isSilent: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        return count < 0 && Self.isBlocked(errno)
    }

    /// Whether nothing can be read before the next request is sent. What can be is lost: the connection ends then.
    ///
    /// Over TLS the socket may have a ticket or a key update, which is no end; and an alert may have left the socket.
    var isIdle: Bool {
        guard isIndirect else { return isSilent }
        var byte: UInt8 = 0
        let outcome = withUnsafeMutableBytes(of: &byte) { receive(into: $0) }
        return if case .blocked = outcome { true } else { false }
    }

    /// Ends this side's direction, if the peer can be told that without ending the other one: in TLS 1.2 the alert
    /// would end both.
    func finishWriting() {
        switch kind {
        case .cleartext: shutdown(descriptor, Int32(SHUT_WR))
        case .tls: break
        case .link(let link): if !link.isSecure { shutdown(descriptor, Int32(SHUT_WR)) }
        }
    }

    func close(_ poller: pulse_poller) {
        switch kind {
        case .cleartext:
            pulse_poller_close_socket(poller, descriptor)
        case .tls(let session):
            session.close()
            pulse_poller_close_socket(poller, descriptor)
        case .link(let link):
            pulse_poller_remove(poller, descriptor)
            link.close()
        }
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
