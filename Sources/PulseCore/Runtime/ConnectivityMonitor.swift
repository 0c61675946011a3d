// SPDX-License-Identifier: MIT

/// What is known about the way to the network. It may delay or wake a request, but never forbids one: only an attempt
/// to connect tells.
public struct ConnectivityStatus: Sendable, Hashable {
    /// Whether there is a way to the network.
    public enum Path: Sendable, Hashable {
        /// The system has not answered yet.
        case unknown
        /// There is a way to the network.
        case satisfied
        /// There is no way to the network.
        case unsatisfied
    }

    /// The kind of a network interface.
    public enum Interface: Sendable, Hashable {
        /// The kinds that a monitor can tell apart; `other` is anything else.
        case wifi, cellular, wired, loopback, other
    }

    /// Whether there is a way to the network.
    public var path: Path
    /// The interfaces in use; empty if they are not known.
    public var interfaces: Set<Interface>
    /// Whether the network is metered, such as a cellular one.
    public var isExpensive: Bool
    /// Whether the user asked to save data.
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

/// A monitor of the way to the network. Used from any thread.
public protocol ConnectivityMonitor: Sendable {
    /// The status as it is known now.
    var current: ConnectivityStatus { get }
    /// The status now, then every change. Each read of the property is a subscription of its own.
    var updates: AsyncStream<ConnectivityStatus> { get }
}
