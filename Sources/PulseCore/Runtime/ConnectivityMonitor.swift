// SPDX-License-Identifier: MIT

/// The known state of the network path. It may delay or wake a request, but never forbids one: only a connection
/// attempt is conclusive.
public struct ConnectivityStatus: Sendable, Hashable {
    /// Whether there is a path to the network.
    public enum Path: Sendable, Hashable {
        /// The system has not reported a status yet.
        case unknown
        /// There is a path to the network.
        case satisfied
        /// There is no path to the network.
        case unsatisfied
    }

    /// The kind of a network interface.
    public enum Interface: Sendable, Hashable {
        /// The kinds that a monitor distinguishes; `other` is anything else.
        case wifi, cellular, wired, loopback, other
    }

    /// Whether there is a path to the network.
    public var path: Path
    /// The interfaces in use; empty if they are not known.
    public var interfaces: Set<Interface>
    /// Whether the network is metered, such as a cellular one.
    public var isExpensive: Bool
    /// Whether the user has enabled a low data mode.
    public var isConstrained: Bool

    /// Creates a status; by default neither expensive nor constrained, and without interfaces.
    public init(
        path: Path, interfaces: Set<Interface> = [], isExpensive: Bool = false, isConstrained: Bool = false
    ) {
        self.path = path
        self.interfaces = interfaces
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
    }
}

/// A monitor of the network path. Used from any thread.
public protocol ConnectivityMonitor: Sendable {
    /// The current known status.
    var current: ConnectivityStatus { get }
    /// The current status, then every change. Each read of the property creates a new subscription.
    var updates: AsyncStream<ConnectivityStatus> { get }
}
