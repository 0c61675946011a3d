// SPDX-License-Identifier: MIT

#if canImport(Network)
import Network
import PulseCore
import Security

/// A connection of Network.framework's.
///
/// Over TLS the system evaluates the server's certificates and name before the connection is ready. There are no other
/// rules of trust to enforce: the transport refuses requests with pins or TLS settings.
final class NetworkChannel: CallbackChannel, @unchecked Sendable {
    // Unchecked: an NWConnection is not Sendable in every SDK, but may be used on any thread. Its handler is set once,
    // before it starts.
    private let connection: NWConnection
    private let queue = DispatchQueue(label: "PulseKit.NetworkChannel")

    init(
        _ address: ServerAddress, isSecure: Bool, _ request: URLRequest, _ configuration: URLSessionConfiguration
    ) throws {
        try configuration.refuseProxies()
        guard let port = NWEndpoint.Port(rawValue: address.port) else {
            throw PulseError.invalidURL("a port from 1 to 65535 is needed")
        }
        let tcp = NWProtocolTCP.Options()
        tcp.noDelay = true
        let tls = isSecure ? Self.tlsOptions(address, configuration) : nil
        let parameters = NWParameters(tls: tls, tcp: tcp)
        if !configuration.allowsCellularAccess || !request.allowsCellularAccess {
            parameters.prohibitedInterfaceTypes = [.cellular]
        }
        parameters.prohibitExpensivePaths =
            !configuration.allowsExpensiveNetworkAccess || !request.allowsExpensiveNetworkAccess
        parameters.prohibitConstrainedPaths =
            !configuration.allowsConstrainedNetworkAccess || !request.allowsConstrainedNetworkAccess
        connection = NWConnection(host: NWEndpoint.Host(address.host), port: port, using: parameters)
    }

    private static func tlsOptions(
        _ address: ServerAddress, _ configuration: URLSessionConfiguration
    ) -> NWProtocolTLS.Options {
        let tls = NWProtocolTLS.Options()
        let options = tls.securityProtocolOptions
        if let name = address.serverName { sec_protocol_options_set_tls_server_name(options, name) }
        // Otherwise TLS might agree on HTTP/2.
        sec_protocol_options_add_tls_application_protocol(options, "http/1.1")
        // App Transport Security, which requires TLS 1.2 of a session, does not apply to connections.
        let minimum = configuration.tlsMinimumSupportedProtocolVersion
        sec_protocol_options_set_min_tls_protocol_version(
            options, minimum.rawValue > tls_protocol_version_t.TLSv12.rawValue ? minimum : .TLSv12)
        sec_protocol_options_set_max_tls_protocol_version(options, configuration.tlsMaximumSupportedProtocolVersion)
        return tls
    }

    func start(_ report: @escaping @Sendable (CallbackChannelEvent) -> Void) {
        // The connection holds the handler until it is cancelled.
        connection.stateUpdateHandler = { [weak self] state in
            switch state {
            case .ready: report(.ready(remoteAddress: self?.connection.currentPath?.remoteEndpoint?.address))
            case .waiting(let error): report(.waiting(CallbackFailure(error)))
            case .failed(let error): report(.failed(CallbackFailure(error)))
            case .setup, .preparing, .cancelled: break
            @unknown default: break
            }
        }
        connection.start(queue: queue)
    }

    func receive(
        upTo limit: Int, _ completion: @escaping @Sendable (_ bytes: Data?, _ isEnd: Bool, CallbackFailure?) -> Void
    ) {
        connection.receive(minimumIncompleteLength: 1, maximumLength: limit) { bytes, _, isComplete, error in
            completion(bytes, isComplete, error.map { CallbackFailure($0) })
        }
    }

    func send(_ bytes: Data, _ completion: @escaping @Sendable (CallbackFailure?) -> Void) {
        connection.send(content: bytes, completion: .contentProcessed { completion($0.map { CallbackFailure($0) }) })
    }

    func finish() {
        connection.send(
            content: nil as Data?, contentContext: .finalMessage, isComplete: true,
            completion: .contentProcessed { _ in })
    }

    func cancel() {
        connection.cancel()
    }
}

extension CallbackFailure {
    // Not a switch: later SDKs have further cases.
    fileprivate init(_ error: NWError) {
        let cause: Cause =
            if case .posix(let code) = error {
                .posix(code)
            } else if case .dns(let code) = error {
                .dns(code)
            } else if case .tls(let code) = error {
                .tls(code)
            } else {
                .unknown
            }
        self.init(cause: cause, underlying: error)
    }
}

extension NWEndpoint {
    /// The IP address of the host, without a zone; nil for a name.
    fileprivate var address: String? {
        guard case .hostPort(let host, _) = self else { return nil }
        let text: String? =
            switch host {
            case .ipv4(let address): "\(address)"
            case .ipv6(let address): "\(address)"
            case .name: nil
            @unknown default: nil
            }
        return text?.split(separator: "%").first.map(String.init)
    }
}

extension URLSessionConfiguration {
    fileprivate func refuseProxies() throws {
        if #available(iOS 17, macOS 14, tvOS 17, watchOS 10, *) {  // newer: a setting that exists only there
            guard proxyConfigurations.isEmpty else {
                throw PulseError.unsupported("an upgrade enforces no proxies of a session's configuration")
            }
        }
    }
}
#endif
