// SPDX-License-Identifier: MIT

// What the sources use of Network. All of it is of iOS 12, macOS 10.14 unless it says otherwise. IntegrationTests/apple runs the
// monitor of paths, and no other body is ever run.
import Dispatch
import Foundation
import FoundationNetworking
import Security

// NWPathMonitor of the Swift overlay. Not Sendable: that is not confirmed for every SDK, and the sources do without.
public final class NWPathMonitor {
    nonisolated(unsafe) private static var started: [NWPathMonitor] = []
    private var queue: DispatchQueue?

    public init() {}
    public var pathUpdateHandler: (@Sendable (NWPath) -> Void)?
    public func start(queue: DispatchQueue) {
        self.queue = queue
        Self.started.append(self)
    }
    public func cancel() { Self.started.removeAll { $0 === self } }

    // Not of Network: what a test changes.
    public static func show(_ path: NWPath) {
        for monitor in started {
            monitor.queue?.sync { monitor.pathUpdateHandler?(path) }
        }
    }
}

// NWPath, with NWInterface; `isConstrained` is of iOS 13, macOS 10.15.
public struct NWPath: Sendable {
    public enum Status: Sendable {
        case satisfied, unsatisfied, requiresConnection
    }

    public internal(set) var status = Status.satisfied
    public internal(set) var isExpensive = false
    public internal(set) var isConstrained = false
    public var remoteEndpoint: NWEndpoint? { nil }
    public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool { types.contains(type) }
    private let types: [NWInterface.InterfaceType]

    // Not of Network: Apple's paths have no public initializer.
    public init(
        _ status: Status, _ types: NWInterface.InterfaceType..., isExpensive: Bool = false, isConstrained: Bool = false
    ) {
        (self.status, self.types, self.isExpensive, self.isConstrained) = (status, types, isExpensive, isConstrained)
    }
}

public struct NWInterface: Hashable, Sendable {
    public enum InterfaceType: Hashable, Sendable {
        case other, wifi, cellular, wiredEthernet, loopback
    }
}

// NWConnection. Not Sendable, as in earlier SDKs; its closures are, as in later ones.
public final class NWConnection {
    public enum State: Equatable, Sendable {
        case setup, waiting(NWError), preparing, ready, failed(NWError), cancelled
    }

    public class ContentContext {
        public static var defaultMessage: ContentContext { ContentContext() }
        public static var finalMessage: ContentContext { ContentContext() }
    }

    public enum SendCompletion {
        case contentProcessed(@Sendable (_ error: NWError?) -> Void)
        case idempotent
    }

    public init(host: NWEndpoint.Host, port: NWEndpoint.Port, using: NWParameters) {}
    public var stateUpdateHandler: (@Sendable (_ state: State) -> Void)?
    public var currentPath: NWPath? { nil }
    public func start(queue: DispatchQueue) {}
    public func receive(
        minimumIncompleteLength: Int, maximumLength: Int,
        completion:
            @escaping @Sendable (
                _ content: Data?, _ contentContext: ContentContext?, _ isComplete: Bool, _ error: NWError?
            ) -> Void
    ) {}
    public func send(
        content: Data?, contentContext: ContentContext = .defaultMessage, isComplete: Bool = true,
        completion: SendCompletion
    ) {}
    public func cancel() {}
}

// In Apple's SDK not frozen, as the enumerations of NWEndpoint; modules that are built from source have no such.
public enum NWError: Error, Equatable {
    case posix(POSIXErrorCode)
    case dns(DNSServiceErrorType)
    case tls(OSStatus)
}

// Of the module dnssd.
public typealias DNSServiceErrorType = Int32

// NWEndpoint; the case `url` is of iOS 13, macOS 10.15.
public enum NWEndpoint: Hashable, Sendable {
    public enum Host: Hashable, Sendable, ExpressibleByStringLiteral {
        case name(String, NWInterface?)
        case ipv4(IPv4Address)
        case ipv6(IPv6Address)

        public init(_ string: String) { self = .name(string, nil) }
        public init(stringLiteral: StringLiteralType) { self = .name(stringLiteral, nil) }
    }

    public struct Port: Hashable, Sendable {
        public static let any = Port(rawValue: 0)!
        public var rawValue: UInt16 { 0 }
        public init?(rawValue: UInt16) {}
    }

    case hostPort(host: Host, port: Port)
    case service(name: String, type: String, domain: String, interface: NWInterface?)
    case unix(path: String)
    case url(URL)
}

public struct IPv4Address: Hashable, Sendable, CustomDebugStringConvertible {
    public var debugDescription: String { "" }
}

public struct IPv6Address: Hashable, Sendable, CustomDebugStringConvertible {
    public var debugDescription: String { "" }
}

// NWProtocolOptions, NWProtocolTCP, NWProtocolTLS.
public class NWProtocolOptions {}

public enum NWProtocolTCP {
    public class Options: NWProtocolOptions {
        public override init() {}
        public var noDelay: Bool = false
    }
}

public enum NWProtocolTLS {
    public class Options: NWProtocolOptions {
        public override init() {}
        public var securityProtocolOptions: sec_protocol_options_t { sec_protocol_options() }
    }
}

// NWParameters; `prohibitConstrainedPaths` is of iOS 13, macOS 10.15.
public class NWParameters {
    public init(tls: NWProtocolTLS.Options?, tcp: NWProtocolTCP.Options = NWProtocolTCP.Options()) {}
    public final var prohibitedInterfaceTypes: [NWInterface.InterfaceType]?
    public final var prohibitExpensivePaths: Bool = false
    public final var prohibitConstrainedPaths: Bool = false
    // iOS 12, macOS 10.14.
    public final var preferNoProxies: Bool = false

    // iOS 14, macOS 11; its proxies are of iOS 17, macOS 14.
    public class PrivacyContext {
        public init(description: String) {}
        public final var proxyConfigurations: [ProxyConfiguration] = []
    }

    public final func setPrivacyContext(_ context: PrivacyContext) {}
    public final var requiredLocalEndpoint: NWEndpoint?
}

// iOS 17, macOS 14. Hashable and Sendable by the published interface.
public struct ProxyConfiguration: Hashable, Sendable {
    public init(httpCONNECTProxy: NWEndpoint, tlsOptions: NWProtocolTLS.Options? = nil) {}
    public init(socksv5Proxy: NWEndpoint) {}
    public var allowFailover: Bool = false
    public mutating func applyCredential(username: String, password: String) {}
}

extension URLSessionConfiguration {
    // iOS 17, macOS 14.
    public var proxyConfigurations: [ProxyConfiguration] {
        get { [] }
        set {}
    }
}

// iOS 12, macOS 10.14. Not Sendable, as in earlier SDKs; its closures are, as in later ones.
public final class NWListener {
    public enum State: Equatable, Sendable {
        case setup, waiting(NWError), ready, failed(NWError), cancelled
    }

    public init(using: NWParameters, on port: NWEndpoint.Port = .any) throws {}
    public var stateUpdateHandler: (@Sendable (_ newState: State) -> Void)?
    public var newConnectionHandler: (@Sendable (_ connection: NWConnection) -> Void)?
    public var port: NWEndpoint.Port? { nil }
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}
