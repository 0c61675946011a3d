// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulseTesting
import PulseCore
import Testing

@testable import PulseTransports

/// Certificates of a server and a client, made in this process, with an authority of their own.
struct TestIdentity {
    let authority: String
    /// In PEM, the server's first.
    let certificates: [String]
    let key: String
    let client: TLSSettings.ClientCertificate

    /// - Parameter names: as in the configuration of OpenSSL.
    init(
        _ names: String = "DNS:localhost", validity: ClosedRange<Int> = -3600...3600,
        _ oddity: pulse_tls_oddity = PULSE_TLS_USUAL
    ) throws {
        try #require(pulse_tls_can_generate())
        var made = pulse_tls_identity()
        try #require(
            pulse_tls_identity_generate(names, validity.lowerBound, validity.upperBound, "password", oddity, &made))
        func take(_ text: pulse_tls_text) -> Data {
            guard let bytes = text.bytes else { return Data() }
            return Data(bytesNoCopy: bytes, count: text.count, deallocator: .free)
        }
        let begin = "-----BEGIN"
        let chain = String(decoding: take(made.certificate), as: UTF8.self)
        authority = String(decoding: take(made.authority), as: UTF8.self)
        key = String(decoding: take(made.key), as: UTF8.self)
        certificates = chain.components(separatedBy: begin).dropFirst().map { begin + $0 }
        client = TLSSettings.ClientCertificate(pkcs12: take(made.client), password: "password")
    }

    /// The settings of a client that trusts the authority.
    var settings: TLSSettings { TLSSettings(certificateAuthorities: [Data(authority.utf8)]) }

    func context(pins: SSLPinningPolicy.PinSet? = nil, offersHTTP2: Bool = true) throws -> TLSContext {
        try TLSContext(settings, pins: pins, offersHTTP2: offersHTTP2)
    }
}

/// A server whose connections are pairs of sockets.
final class TLSTestServer {
    private let server: OpaquePointer

    /// - Parameters:
    ///   - minor: 2 for TLS 1.2, 3 for TLS 1.3.
    ///   - maximum: the highest version, if it also takes others.
    ///   - chain: nil for the identity's.
    ///   - alpn: what it chooses, whatever the client offers.
    init(
        _ identity: TestIdentity, minor: Int32 = 3, maximum: Int32? = nil, chain: String? = nil,
        clients: pulse_tls_clients = PULSE_TLS_CLIENTS_IGNORED, alpn: StaticString? = nil
    ) throws {
        try #require(pulse_tls_can_serve())
        var problem: UnsafePointer<CChar>?
        let protocolName = alpn.map { UnsafeRawPointer($0.utf8Start).assumingMemoryBound(to: CChar.self) }
        let made = (chain ?? identity.certificates.joined()).withCString { certificates in
            identity.key.withCString { key in
                identity.authority.withCString { authorities in
                    var settings = pulse_tls_server_settings(
                        certificates: certificates, key: key, client_authorities: authorities, clients: clients,
                        minimum_minor: minor, maximum_minor: maximum ?? minor, alpn: protocolName)
                    return pulse_tls_server_new(&settings, &problem)
                }
            }
        }
        server = try #require(made)
    }

    deinit {
        pulse_tls_server_free(server)
    }

    func connection() throws -> TLSPeer {
        try TLSPeer(try #require(pulse_tls_stream_new(server)))
    }
}

/// The server's end of a connection, which acts only when a test calls it.
final class TLSPeer {
    enum End {
        /// The client has sent the close alert.
        case closed
        /// The client has sent another alert, or sends garbage.
        case refused, failed
    }

    /// The end of the session under test.
    let near: Int32
    private var far: Int32
    private var session: TLSSession?
    private let stream: OpaquePointer
    private(set) var received = Data()
    private(set) var end: End?
    /// What somebody on the way makes of the client's bytes.
    var meddle: (Data) -> Data = { $0 }
    /// The encrypted bytes that the socket has not taken.
    private var outgoing = Data()

    fileprivate init(_ stream: OpaquePointer) throws {
        self.stream = stream
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        (near, far) = (ends[0], ends[1])
    }

    deinit {
        cut()
        pulse_tls_stream_free(stream)
    }

    /// Takes what has come, and sends what there is to say.
    func turn() {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = recv(far, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { break }
            let isFed = meddle(Data(buffer[..<count])).withUnsafeBytes {
                pulse_tls_stream_feed(stream, $0.baseAddress, $0.count)
            }
            #expect(isFed)
        }
        var count = Int(pulse_tls_stream_read(stream, &buffer, buffer.count))
        while count > 0 {
            received += Data(bytes: buffer, count: count)
            count = Int(pulse_tls_stream_read(stream, &buffer, buffer.count))
        }
        switch count {
        case Int(PULSE_TLS_STREAM_ENDED): end = end ?? .closed
        case Int(PULSE_TLS_STREAM_REFUSED): end = end ?? .refused
        case Int(PULSE_TLS_STREAM_FAILED): end = end ?? .failed
        default: break
        }
        flush()
    }

    /// The bytes that are to be sent, which are not sent then.
    func takeOutgoing() -> Data {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var count = pulse_tls_stream_take(stream, &buffer, buffer.count)
        while count > 0 {
            outgoing += Data(bytes: buffer, count: count)
            count = pulse_tls_stream_take(stream, &buffer, buffer.count)
        }
        defer { outgoing = Data() }
        return outgoing
    }

    private func flush() {
        let bytes = takeOutgoing()
        let count = bytes.withUnsafeBytes {
            send(far, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        }
        outgoing = Data(bytes.dropFirst(max(0, count)))
    }

    func say(_ text: String) {
        encrypt(text)
        flush()
    }

    private func encrypt(_ text: String) {
        let isWritten = text.withCString { pulse_tls_stream_write(stream, $0, text.utf8.count) }
        #expect(isWritten)
    }

    /// Sends bytes that are not encrypted.
    func say(raw bytes: Data) {
        outgoing += bytes
        flush()
    }

    /// Encrypts a text, which is not sent.
    func record(of text: String) -> Data {
        encrypt(text)
        return takeOutgoing()
    }

    /// Asks for new keys, or for another handshake in TLS 1.2.
    func renew() {
        #expect(pulse_tls_stream_renew(stream))
        flush()
    }

    /// Sends the close alert.
    func finish() {
        pulse_tls_stream_end(stream)
        flush()
    }

    /// Closes the socket, with what is unread.
    func cut() {
        if far >= 0 { close(far) }
        far = -1
    }

    /// Closes the end of the session, as a connection does: the session first, which would send its alert to the next
    /// socket with this number.
    func leave() {
        session?.close()
        close(near)
    }

    /// Whether the other end is closed.
    var isAlone: Bool {
        var byte: UInt8 = 0
        return recv(far, &byte, 1, Int32(MSG_DONTWAIT)) == 0
    }

    /// A session of the other end, after its handshake. Throws what that does.
    func session(
        _ context: TLSContext, host: String = "localhost", now: TimeInterval = TLSSession.now
    ) throws -> TLSSession {
        let session = try newSession(context, host: host, now: now)
        try handshake(session)
        return session
    }

    /// A session of the other end, before its handshake.
    func newSession(
        _ context: TLSContext, host: String = "localhost", now: TimeInterval = TLSSession.now
    ) throws -> TLSSession {
        let made = try TLSSession(context, host: host, descriptor: near, now: now)
        session = made
        return made
    }

    func handshake(_ session: TLSSession) throws {
        var isDone = false
        for _ in 0..<10 where !isDone {
            isDone = try session.handshake()
            turn()
        }
        try #require(isDone)
    }
}

/// What a call of a session has returned, for comparisons.
enum Seen: Equatable {
    case text(String)
    case sent(Int)
    case end, blocked
    case failed(URLError.Code)
}

extension TLSSession {
    func read(_ room: Int = 100) -> Seen {
        var buffer = [UInt8](repeating: 0, count: room)
        return switch buffer.withUnsafeMutableBytes({ receive(into: $0) }) {
        case .bytes(let count): .text(String(decoding: buffer[..<count], as: UTF8.self))
        case .end: .end
        case .blocked: .blocked
        case .failed(let code, _): .failed(code)
        }
    }

    func write(_ bytes: Data) -> Seen {
        switch bytes.withUnsafeBytes({ send($0) }) {
        case .bytes(let count): .sent(count)
        case .end: .end
        case .blocked: .blocked
        case .failed(let code, _): .failed(code)
        }
    }

    /// Sends from the start of the bytes until there is no more room. Returns the number of sent bytes.
    func fill(_ bytes: Data) -> Int {
        var count = 0
        while case .sent(let more) = write(bytes.dropFirst(count)), count < bytes.count { count += more }
        return count
    }
}
#endif
