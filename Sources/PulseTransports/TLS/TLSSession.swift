// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

/// The TLS session of one connection. It never blocks. Only one task at a time may use it.
final class TLSSession: @unchecked Sendable {
    // Unchecked: the owner of the connection calls it under one lock. Only `handshake()`, which computes for long, runs
    // without it: the owner notes that it is in progress, and calls and closes nothing meanwhile.

    let descriptor: Int32
    private let context: TLSContext
    /// Nil once closed.
    private var session: OpaquePointer?
    /// The keys of the verified chain, if none is pinned and the policy is report-only.
    private(set) var unpinnedKeys: [[UInt8]]?
    /// The protocol that ALPN has selected: `h2` or `http/1.1`. Nil without one, and before the end of the handshake.
    private(set) var protocolName: String?

    /// TLS over a connected socket, which the session does not close. Throws ``TransportFailure`` if the system's
    /// authorities cannot be read, and ``PulseError/invalidURL(_:)`` for a host that no certificate can have.
    ///
    /// - Parameters:
    ///   - host: the name or IP address that the server's certificate must have.
    ///   - now: the time for the expiry of earlier sessions, in seconds of ``now``.
    init(_ context: TLSContext, host: String, descriptor: Int32, now: TimeInterval = TLSSession.now) throws {
        let name = Self.certifiedName(of: host)
        // For OpenSSL an empty name matches every certificate, and a leading dot any subdomain.
        guard !name.isEmpty, !name.hasPrefix("."), !name.utf8.contains(0) else {
            throw PulseError.invalidURL("the name of a host is needed")
        }
        (self.context, self.descriptor) = (context, descriptor)
        var problem = PULSE_TLS_NO_MEMORY
        session = pulse_tls_session_new(context.context, name, descriptor, now, &problem)
        guard session == nil else { return }
        if problem == PULSE_TLS_NO_AUTHORITIES { throw TLSFailure.unreadable(context.authorities) }
        throw TransportFailure(code: .resourceUnavailable, phase: .beforeSend)
    }

    deinit {
        // Sends nothing: the descriptor may be another socket's by now.
        if let session { pulse_tls_session_free(session) }
    }

    /// The time of a clock that keeps running while the machine sleeps.
    static var now: TimeInterval { pulse_tls_now() }

    /// The host as a certificate has it: without brackets, zone and final dot; an IPv4 address in its usual form.
    static func certifiedName(of host: String) -> String {
        guard host.utf8.contains(UInt8(ascii: ":")) else {
            return IPv4Text.dottedQuad(host) ?? (host.hasSuffix(".") ? String(host.dropLast()) : host)
        }
        return String(host.drop { $0 == "[" }.prefix { $0 != "]" && $0 != "%" })
    }

    // MARK: Handshake

    /// Continues the handshake. False if it is blocked: call again after the descriptor's next event, in either
    /// direction. Throws ``TransportFailure`` with the phase `.beforeSend`, or ``TLSFailure/Unpinned``.
    func handshake() throws -> Bool {
        guard let session else { throw CancellationError() }
        switch Int(pulse_tls_session_handshake(session)) {
        case PULSE_TLS_BLOCKED: return false
        case PULSE_TLS_FAILED: throw TLSFailure.ofHandshake(pulse_tls_session_failure(session))
        default: break
        }
        var length: UInt32 = 0
        if let name = pulse_tls_session_protocol(session, &length), length > 0 {
            protocolName = String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
        }
        switch context.pins?.verdict(onKeys: verifiedKeys) {
        case .accepted, nil: break
        case .reported(let keys): unpinnedKeys = keys
        case .refused(let keys): throw TLSFailure.Unpinned(keys: keys)
        }
        return true
    }

    /// The SHA-256 of the keys in the verified chain, leaf first. Empty in a resumed session, which has no chain.
    var verifiedKeys: [[UInt8]] {
        guard let session else { return [] }
        let (length, capacity) = (Int(PULSE_TLS_KEY_HASH_LENGTH), 32)
        var hashes = [UInt8](repeating: 0, count: length * capacity)
        let count = Int(pulse_tls_session_key_hashes(session, &hashes, Int32(capacity)))
        return (0..<count).map { Array(hashes[$0 * length..<($0 + 1) * length]) }
    }

    /// Whether the handshake has resumed an earlier session.
    var isResumed: Bool { session.map { pulse_tls_session_is_resumed($0) } ?? false }

    // MARK: Bytes

    /// Receives at most one record. `.blocked` only when the socket has nothing more; `.end` only after the close alert
    /// (RFC 8446, section 6.1): without it the end may be a truncation.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> SocketChannel.Outcome {
        outcome { pulse_tls_session_read($0, buffer.baseAddress, buffer.count) }
    }

    /// Sends some of the bytes. After `.blocked` the next call must begin with the same ones. A failure does not end
    /// reading: a server that refuses a request may respond before it closes (RFC 9112, section 9.5).
    func send(_ bytes: UnsafeRawBufferPointer) -> SocketChannel.Outcome {
        outcome { pulse_tls_session_write($0, bytes.baseAddress, bytes.count) }
    }

    /// Whether a record is encrypted whose bytes no send has reported as sent. It may have been sent in part, and the
    /// rest of it is sent before anything else.
    var mayHaveSent: Bool { session.map { pulse_tls_session_may_have_sent($0) } ?? false }

    /// Sends the close alert, unless the socket has no room for it, and frees the session. The socket stays open.
    func close() {
        guard let session = self.session.take() else { return }
        pulse_tls_session_end(session)
        pulse_tls_session_free(session)
    }

    private func outcome(_ call: (OpaquePointer) -> Int) -> SocketChannel.Outcome {
        guard let session else { return .failed(.networkConnectionLost, underlying: nil) }
        switch call(session) {
        case PULSE_TLS_CLOSED: return .end
        case PULSE_TLS_BLOCKED: return .blocked
        case PULSE_TLS_FAILED: return TLSFailure.ofConnection(pulse_tls_session_failure(session))
        case let count: return .bytes(count)
        }
    }
}
#endif
