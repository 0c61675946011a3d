// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// A connection that stays with its libcurl handle: over TLS, or through a proxy.
final class CurlLink: @unchecked Sendable {
    // Unchecked: the owner of the connection calls it under one lock, and the handle is used nowhere else.

    /// The most bytes of one send, so that a large write leaves the lock to readers.
    private static let turn = 64 << 10

    let descriptor: Int32
    /// Keeps the handle, and what libcurl may still read: the error text.
    private let transfer: CurlTransfer
    /// Nil once closed.
    private var link: OpaquePointer?
    /// The bytes of a blocked send: libcurl must get the same ones from the same memory again.
    private var blocked: UnsafeMutableRawBufferPointer?
    /// Whether libcurl has not taken the bytes of the last send. TLS may have sent a part of what it has encrypted.
    private var isUncertain = false

    /// Takes over the link of a connected transfer.
    init(_ transfer: CurlTransfer, _ link: OpaquePointer, descriptor: Int32) {
        self.transfer = transfer
        self.link = link
        self.descriptor = descriptor
    }

    deinit {
        close()
    }

    var isSecure: Bool { transfer.request.isSecure }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> SocketChannel.Outcome {
        var count = 0
        let result = pulse_link_receive(link, buffer.baseAddress, buffer.count, &count)
        guard result == PULSE_CURLE_OK else { return outcome(of: result) }
        guard count == 0 else { return .bytes(count) }
        // Without the close alert the end may be a cut (RFC 8446, section 6.1). libcurl does not check this.
        let isCut = isSecure && transfer.progress.notes?.isClosed == false
        return isCut ? .failed(refusal ?? .networkConnectionLost, underlying: nil) : .end
    }

    func send(_ bytes: UnsafeRawBufferPointer) -> SocketChannel.Outcome {
        let chunk = blocked ?? copy(of: bytes.prefix(Self.turn))
        var count = 0
        let result = pulse_link_send(link, chunk.baseAddress, chunk.count, &count)
        isUncertain = result != PULSE_CURLE_OK
        guard result != PULSE_CURLE_AGAIN else {
            blocked = chunk
            return .blocked
        }
        blocked = nil
        chunk.deallocate()
        return result == PULSE_CURLE_OK ? .bytes(count) : outcome(of: result)
    }

    var mayHaveSent: Bool { isSecure && isUncertain }

    func takeBack() {
        blocked?.deallocate()
        blocked = nil
    }

    func close() {
        if let link { pulse_link_close(link) }
        link = nil
        takeBack()
    }

    private func copy(of bytes: Slice<UnsafeRawBufferPointer>) -> UnsafeMutableRawBufferPointer {
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        chunk.copyBytes(from: bytes)
        return chunk
    }

    /// The server's objection to the client's certificate, which TLS 1.3 reports after the handshake.
    private var refusal: URLError.Code? { transfer.progress.notes?.refusal }

    private func outcome(of result: Int32) -> SocketChannel.Outcome {
        guard result != PULSE_CURLE_AGAIN else { return .blocked }
        let cause = CurlFailure(code: result, text: transfer.handle.text(of: result))
        return .failed(refusal ?? .networkConnectionLost, underlying: cause)
    }
}
#endif
