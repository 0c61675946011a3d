// SPDX-License-Identifier: MIT

#if canImport(Network)
import Network
import PulseCore
import Security

/// A channel over a connection of Network.framework.
final class NetworkChannel: CallbackChannel, @unchecked Sendable {
    // Unchecked: an NWConnection is not Sendable in every SDK, but may be used on any thread. Its handler is set once,
    // before it starts.
    private let connection: NWConnection
    private let queue = DispatchQueue(label: "PulseKit.NetworkChannel")
    /// Why the server's certificates were refused.
    private let refusal = Locked<(any Error)?>(nil)

    init(_ settings: ChannelSettings) throws {
        let (request, configuration) = (settings.urlRequest, settings.configuration)
        guard !configuration.hasProxyConfigurations else {
            throw PulseError.unsupported("an upgrade enforces no proxies of a session's configuration")
        }
        guard let port = NWEndpoint.Port(rawValue: settings.address.port) else {
            throw PulseError.invalidURL("a port from 1 to 65535 is needed")
        }
        let tcp = NWProtocolTCP.Options()
        tcp.noDelay = true
        let tls = settings.isSecure ? try Self.tlsOptions(settings, refusal) : nil
        let parameters = NWParameters(tls: tls, tcp: tcp)
        if !configuration.allowsCellularAccess || !request.allowsCellularAccess {
            parameters.prohibitedInterfaceTypes = [.cellular]
        }
        parameters.prohibitExpensivePaths =
            !configuration.allowsExpensiveNetworkAccess || !request.allowsExpensiveNetworkAccess
        parameters.prohibitConstrainedPaths =
            !configuration.allowsConstrainedNetworkAccess || !request.allowsConstrainedNetworkAccess
        let proxy = try SessionProxy(ofConnection: settings.proxy, hasConfigurations: SessionProxy.hasConfigurations)
        parameters.preferNoProxies = proxy == .direct
        if #available(iOS 17, macOS 14, tvOS 17, watchOS 10, *) {  // newer: proxies of a connection
            let context = NWParameters.PrivacyContext(description: "PulseKit")
            context.proxyConfigurations = try proxy.configurations()
            if !context.proxyConfigurations.isEmpty { parameters.setPrivacyContext(context) }
        }
        connection = NWConnection(host: NWEndpoint.Host(settings.address.host), port: port, using: parameters)
    }

    private static func tlsOptions(
        _ settings: ChannelSettings, _ refusal: Locked<(any Error)?>
    ) throws -> NWProtocolTLS.Options {
        let tls = NWProtocolTLS.Options()
        let (options, configuration) = (tls.securityProtocolOptions, settings.configuration)
        let plan = try ChannelTLS(
            settings, from: configuration.tlsMinimumSupportedProtocolVersion.rawValue,
            upTo: configuration.tlsMaximumSupportedProtocolVersion.rawValue)
        if let name = plan.serverName { sec_protocol_options_set_tls_server_name(options, name) }
        sec_protocol_options_add_tls_application_protocol(options, plan.applicationProtocol)
        sec_protocol_options_set_min_tls_protocol_version(options, tls_protocol_version_t(number: plan.minimumVersion))
        sec_protocol_options_set_max_tls_protocol_version(options, tls_protocol_version_t(number: plan.maxVersion))
        if let credential = settings.identity {
            guard let identity = credential.channelIdentity else {
                throw TLSSettings.ClientCertificate.unusable("the system takes no identity from it")
            }
            sec_protocol_options_set_local_identity(options, identity)
        }
        guard plan.evaluatesTrust else { return tls }
        let (authorities, check) = (settings.authorities, settings.check)
        let verify: sec_protocol_verify_t = { _, trust, complete in
            do {
                let trust = sec_trust_copy_ref(trust).takeRetainedValue()
                let policy = SecPolicyCreateSSL(true, plan.certifiedName as CFString)
                guard SecTrustSetPolicies(trust, policy) == errSecSuccess else {
                    throw TransportFailure.untrusted(status: nil, underlying: nil)
                }
                try check(try trust.evaluate(authorities))
                complete(true)
            } catch {
                refusal.withLock { $0 = error }
                complete(false)
            }
        }
        // Not the queue of the connection: an evaluation may wait for a revocation server.
        sec_protocol_options_set_verify_block(options, verify, DispatchQueue(label: "PulseKit.NetworkChannel.trust"))
        sec_protocol_options_set_tls_resumption_enabled(options, plan.resumesSessions)
        return tls
    }

    func start(_ report: @escaping @Sendable (CallbackChannelEvent) -> Void) {
        // The connection holds the handler until it is cancelled.
        let refusal = { @Sendable [refusal] in refusal.withLock { $0 } }
        connection.stateUpdateHandler = { [weak self] state in
            switch state {
            case .ready: report(.ready(remoteAddress: self?.connection.currentPath?.remoteEndpoint?.address))
            case .waiting(let error): report(.failure(CallbackFailure(error), isWaiting: true, refusal: refusal()))
            case .failed(let error): report(.failure(CallbackFailure(error), isWaiting: false, refusal: refusal()))
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

extension URLCredential {
    fileprivate var channelIdentity: sec_identity_t? {
        guard let identity else { return nil }
        return certificates.isEmpty
            ? sec_identity_create(identity)
            : sec_identity_create_with_certificates(identity, certificates as CFArray)
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
#endif
