// SPDX-License-Identifier: MIT

import PulseCore

/// The bytes of a connection in both directions, plain or through TLS.
///
/// TLS starts with ``secure(_:)``, so that a server can accept a connection without a handshake.
struct SocketChannel: Sendable {
    enum Input {
        case bytes(Data)
        case end
        case wouldBlock
        case failed
        /// The client has refused this side's TLS.
        case refused(String)
        /// This side has refused the client's TLS and sent an alert.
        case broken(String)
    }

    let descriptor: SocketDescriptor
    private let tls: TLSStream?
    private let isSecure: Bool
    private var hasBegun = false
    /// Encrypted bytes that the socket has not accepted yet.
    private var outgoing = Data()
    /// The input that follows bytes that were delivered first.
    private var next: Input?

    init(_ descriptor: SocketDescriptor) {
        self.descriptor = descriptor
        tls = nil
        isSecure = false
    }

    init(_ descriptor: SocketDescriptor, securedBy server: TLSServer) {
        self.descriptor = descriptor
        tls = server.makeStream()
        isSecure = true
    }

    /// Whether TLS has not started yet.
    var isUnsecured: Bool { isSecure && !hasBegun }

    /// Whether application bytes can be written.
    var isReady: Bool { !isSecure || hasBegun && tls?.isEstablished == true }

    /// Whether ALPN has selected a protocol.
    var hasProtocol: Bool { tls?.hasProtocol ?? false }

    /// Whether the socket has accepted all written bytes.
    var isFlushed: Bool { outgoing.isEmpty }

    /// Starts TLS; its first bytes may have arrived before.
    mutating func secure(_ early: Data) {
        hasBegun = true
        if tls?.feed(early) != true { next = .broken("no memory") }
    }

    // MARK: Reading

    mutating func read(upTo limit: Int) -> Input {
        if let next = takeNext() { return next }
        guard hasBegun, let tls else {
            switch descriptor.readBytes(upTo: limit) {
            case .bytes(let bytes): return .bytes(bytes)
            case .end: return .end
            case .wouldBlock: return .wouldBlock
            case .failed: return .failed
            }
        }
        guard limit > 0 else { return .wouldBlock }
        while true {
            if let input = decrypted(by: tls) { return input }
            // A record must be complete before it yields a byte for the reader.
            switch descriptor.readBytes(upTo: max(limit, 17 << 10)) {
            case .bytes(let bytes): if !tls.feed(bytes) { return .broken("no memory") }
            case .end: return .end
            case .wouldBlock: return .wouldBlock
            case .failed: return .failed
            }
        }
    }

    /// The decrypted input; nil if more bytes are needed. Sends TLS's own messages.
    private mutating func decrypted(by tls: TLSStream) -> Input? {
        var all = Data()
        var end: Input?
        reading: while true {
            switch tls.read() {
            case .bytes(let bytes): all.append(bytes)
            case .empty: break reading
            case .end:
                end = .end
                break reading
            case .refused(let problem):
                end = .refused(problem)
                break reading
            case .failed(let problem):
                end = .broken(problem)
                break reading
            }
        }
        outgoing.append(tls.take())
        // Bytes that the socket does not accept now are sent with the next bytes, or when it is writable again.
        _ = flush()
        guard !all.isEmpty else { return end }
        next = end
        return .bytes(all)
    }

    private mutating func takeNext() -> Input? {
        defer { next = nil }
        return next
    }

    // MARK: Writing

    /// Removes some bytes from the front and writes them to the socket. All are written when none are left and
    /// ``isFlushed`` holds.
    mutating func write(_ bytes: inout Data) -> SocketDescriptor.Output {
        guard isSecure else {
            let output = descriptor.writeBytes(bytes)
            if case .wrote(let count) = output { bytes = bytes.dropFirst(count) }
            return output
        }
        guard outgoing.isEmpty, !bytes.isEmpty else { return flush() }
        let piece = bytes.prefix(16 << 10)
        guard let tls, tls.write(piece) else { return .failed(SocketFailure(operation: "SSL_write", code: 0)) }
        bytes = bytes.dropFirst(piece.count)
        outgoing.append(tls.take())
        return flush()
    }

    /// The same beneath TLS.
    mutating func writeUnencrypted(_ bytes: inout Data) -> SocketDescriptor.Output {
        outgoing.append(bytes)
        bytes = Data()
        return flush()
    }

    /// Prepares the closure alert, if TLS is established.
    mutating func writeClosureAlert() {
        guard isSecure, isReady, let tls else { return }
        tls.end()
        outgoing.append(tls.take())
    }

    mutating func flush() -> SocketDescriptor.Output {
        while !outgoing.isEmpty {
            switch descriptor.writeBytes(outgoing) {
            case .wrote(let count): outgoing = Data(outgoing.dropFirst(count))
            case .wouldBlock: return .wouldBlock
            case .failed(let failure): return .failed(failure)
            }
        }
        return .wrote(0)
    }
}
