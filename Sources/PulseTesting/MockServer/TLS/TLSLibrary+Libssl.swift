// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulseTesting
import PulseCore

extension TLSLibrary {
    static func generate(names: String, start: Int, end: Int) throws -> GeneratedIdentity {
        guard pulse_tls_can_generate() else { throw unsupported }
        var identity = pulse_tls_identity()
        guard pulse_tls_identity_generate(names, start, end, clientPassword, PULSE_TLS_USUAL, &identity) else {
            throw PulseError.invalidRequest(reason: "libcrypto cannot make a certificate for \(names)")
        }
        return GeneratedIdentity(
            authority: take(identity.authority), certificate: take(identity.certificate), key: take(identity.key),
            client: take(identity.client))
    }

    private static func take(_ text: pulse_tls_text) -> Data {
        guard let bytes = text.bytes else { return Data() }
        return Data(bytesNoCopy: bytes, count: text.count, deallocator: .free)
    }
}

/// The shared state of a TLS server's connections.
// Unchecked, and sound: the pointer never changes, and its target is safe for several threads.
final class TLSServer: @unchecked Sendable {
    private let server: OpaquePointer

    init(_ identity: MockServer.TLSIdentity, _ configuration: MockServer.Configuration) throws {
        guard pulse_tls_can_serve() else { throw TLSLibrary.unsupported }
        let texts = [identity.certificates, identity.key, identity.authority].map {
            String(decoding: $0, as: UTF8.self)
        }
        var problem: UnsafePointer<CChar>?
        let made = texts[0].withCString { certificates in
            texts[1].withCString { key in
                texts[2].withCString { authorities in
                    var settings = pulse_tls_server_settings(
                        certificates: certificates, key: key, client_authorities: authorities,
                        clients: configuration.clientCertificates.mode,
                        minimum_minor: configuration.tlsVersions.lowerBound.minor,
                        maximum_minor: configuration.tlsVersions.upperBound.minor, alpn: nil)
                    return pulse_tls_server_new(&settings, &problem)
                }
            }
        }
        guard let made else {
            let name = problem.map { String(cString: $0) } ?? "setting"
            throw PulseError.invalidRequest(reason: "libssl refuses the server's TLS identity: its \(name)")
        }
        server = made
    }

    deinit {
        pulse_tls_server_free(server)
    }

    /// Selects this ALPN protocol for clients that offer it, and none for others. Call it before the first connection.
    func prefer(_ name: StaticString) {
        pulse_tls_server_prefer(server, UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self))
    }

    /// Nil if out of memory.
    func makeStream() -> TLSStream? {
        pulse_tls_stream_new(server).map(TLSStream.init)
    }
}

/// The TLS of one connection over memory buffers: the owner transfers the bytes.
// Unchecked, and sound: it is part of a `SocketStream`'s state, and accessed only under its lock.
final class TLSStream: @unchecked Sendable {
    private let stream: OpaquePointer

    fileprivate init(_ stream: OpaquePointer) {
        self.stream = stream
    }

    deinit {
        pulse_tls_stream_free(stream)
    }

    /// Whether the handshake is complete.
    var isEstablished: Bool { pulse_tls_stream_is_established(stream) }

    /// Whether ALPN has selected a protocol.
    var hasProtocol: Bool { pulse_tls_stream_has_protocol(stream) }

    /// Adds bytes from the client; false if out of memory.
    func feed(_ bytes: Data) -> Bool {
        bytes.withUnsafeBytes { pulse_tls_stream_feed(stream, $0.baseAddress, $0.count) }
    }

    /// Continues the handshake, or decrypts a record.
    func read() -> TLSInput {
        // The size of the largest record.
        var bytes = Data(count: 16 << 10)
        let count = bytes.withUnsafeMutableBytes { pulse_tls_stream_read(stream, $0.baseAddress, $0.count) }
        switch Int(count) {
        case 1...: return .bytes(bytes.prefix(Int(count)))
        case Int(PULSE_TLS_STREAM_EMPTY): return .empty
        case Int(PULSE_TLS_STREAM_ENDED): return .end
        case Int(PULSE_TLS_STREAM_REFUSED): return .refused(String(cString: pulse_tls_stream_problem(stream)))
        default: return .failed(String(cString: pulse_tls_stream_problem(stream)))
        }
    }

    /// Encrypts bytes; false before the end of the handshake and after a failure.
    func write(_ bytes: Data) -> Bool {
        isEstablished && bytes.withUnsafeBytes { pulse_tls_stream_write(stream, $0.baseAddress, $0.count) }
    }

    /// The bytes to send to the client.
    func take() -> Data {
        var all = Data()
        var piece = Data(count: 17 << 10)
        while true {
            let count = piece.withUnsafeMutableBytes { pulse_tls_stream_take(stream, $0.baseAddress, $0.count) }
            if count == 0 { return all }
            all.append(piece.prefix(count))
        }
    }

    /// Ends the sending side with a closure alert, if the handshake is complete.
    func end() {
        pulse_tls_stream_end(stream)
    }
}

extension MockServer.Configuration.ClientCertificates {
    fileprivate var mode: pulse_tls_clients {
        switch self {
        case .ignored: PULSE_TLS_CLIENTS_IGNORED
        case .requested: PULSE_TLS_CLIENTS_REQUESTED
        case .required: PULSE_TLS_CLIENTS_REQUIRED
        }
    }
}

extension TLSSettings.Version {
    fileprivate var minor: Int32 {
        switch self {
        case .tls12: 2
        case .tls13: 3
        }
    }
}
#endif
