// SPDX-License-Identifier: MIT

/// What is known of the way to the network. It may delay or wake a request and never vetoes one: only a connect tells.
public struct ConnectivityStatus: Sendable, Hashable {
    public enum Path: Sendable, Hashable {
        /// No answer yet.
        case unknown
        case satisfied
        case unsatisfied
    }

    public enum Interface: Sendable, Hashable {
        case wifi, cellular, wired, loopback, other
    }

    public var path: Path
    public var interfaces: Set<Interface>
    /// Costs money by the byte.
    public var isExpensive: Bool
    /// The user asked to save data.
    public var isConstrained: Bool

    public init(
        path: Path, interfaces: Set<Interface> = [], isExpensive: Bool = false, isConstrained: Bool = false
    ) {
        self.path = path
        self.interfaces = interfaces
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
    }
}

/// Watches the way to the network.
public protocol ConnectivityMonitor: Sendable {
    var current: ConnectivityStatus { get }
    /// Each read is a subscription of its own: the status now, then every change.
    var updates: AsyncStream<ConnectivityStatus> { get }
}
