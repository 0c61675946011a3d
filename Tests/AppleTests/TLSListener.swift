// SPDX-License-Identifier: MIT

import Network
import PulseCore
import Security

/// An HTTP/1.1 server over TLS on the loopback interface, by Network.framework: `MockServer` has TLS on Linux only. Each
/// request gets a 200 with the body `ok`.
// Unchecked, and sound: a listener may be used on any thread, and its handlers are set before it starts.
final class TLSListener: @unchecked Sendable {
    private struct State {
        var targets: [String] = []
        var peers: [Peer] = []
    }

    private let listener: NWListener
    private let queue = DispatchQueue(label: "PulseKit.TLSListener")
    private let state = Locked(State())

    /// - Parameter clients: the authority of the client certificates that the server requires; nil for none.
    private init(_ identity: sec_identity_t, clients: SecCertificate?) throws {
        let tls = NWProtocolTLS.Options()
        let options = tls.securityProtocolOptions
        sec_protocol_options_set_local_identity(options, identity)
        sec_protocol_options_add_tls_application_protocol(options, "http/1.1")
        if let clients {
            sec_protocol_options_set_peer_authentication_required(options, true)
            let anchors = NSArray(object: clients) as CFArray
            sec_protocol_options_set_verify_block(
                options,
                { _, trust, complete in
                    let trust = sec_trust_copy_ref(trust).takeRetainedValue()
                    // Otherwise the rules for a server's certificate apply.
                    let statuses = [
                        SecTrustSetPolicies(trust, SecPolicyCreateSSL(false, nil)),
                        SecTrustSetAnchorCertificates(trust, anchors), SecTrustSetAnchorCertificatesOnly(trust, true),
                    ]
                    complete(statuses.allSatisfy { $0 == errSecSuccess } && SecTrustEvaluateWithError(trust, nil))
                }, queue)
        }
        let parameters = NWParameters(tls: tls)
        parameters.requiredLocalEndpoint = .hostPort(host: "127.0.0.1", port: .any)
        listener = try NWListener(using: parameters)
    }

    /// The targets of the requests.
    var targets: [String] { state.withLock { $0.targets } }
    /// The number of connections, with those that failed in the handshake.
    var connectionCount: Int { state.withLock { $0.peers.count } }

    /// Runs `body` with a server that listens, and its URL.
    static func run<Value>(
        _ identity: sec_identity_t, clients: SecCertificate? = nil, _ body: (TLSListener, URL) async throws -> Value
    ) async throws -> Value {
        let server = try TLSListener(identity, clients: clients)
        defer { server.stop() }
        let port = try await server.start()
        guard let url = URL(string: "https://127.0.0.1:\(port)") else { throw URLError(.badURL) }
        return try await body(server, url)
    }

    private func start() async throws -> UInt16 {
        listener.newConnectionHandler = { [weak self] in self?.accept($0) }
        let (states, continuation) = AsyncStream<NWListener.State>.makeStream()
        listener.stateUpdateHandler = { continuation.yield($0) }
        listener.start(queue: queue)
        for await state in states {
            switch state {
            case .ready: return listener.port?.rawValue ?? 0
            case .failed(let error), .waiting(let error): throw error
            default: continue
            }
        }
        throw CancellationError()
    }

    private func stop() {
        listener.cancel()
        state.withLock { $0.peers }.forEach { $0.connection.cancel() }
    }

    private func accept(_ connection: NWConnection) {
        let peer = Peer(connection)
        state.withLock { $0.peers.append(peer) }
        connection.start(queue: queue)
        receive(from: peer, after: Data())
    }

    /// Collects the heads of requests: the tests send no bodies.
    private func receive(from peer: Peer, after earlier: Data) {
        peer.connection.receive(minimumIncompleteLength: 1, maximumLength: 65536) { [weak self] data, _, isEnd, error in
            guard let self, let data, error == nil else { return }
            var bytes = earlier + data
            while let end = bytes.range(of: Data("\r\n\r\n".utf8)) {
                let line = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: " ")
                bytes.removeSubrange(..<end.upperBound)
                state.withLock { $0.targets.append(line.count > 1 ? String(line[1]) : "") }
                peer.connection.send(
                    content: Data("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8),
                    completion: .contentProcessed { _ in })
            }
            if !isEnd { receive(from: peer, after: bytes) }
        }
    }

    // Unchecked, and sound: a connection may be used on any thread.
    private final class Peer: @unchecked Sendable {
        let connection: NWConnection

        init(_ connection: NWConnection) {
            self.connection = connection
        }
    }
}
