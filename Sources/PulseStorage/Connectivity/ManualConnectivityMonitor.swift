// SPDX-License-Identifier: MIT

public import PulseCore

/// A connectivity monitor with a status that you set, for tests and previews.
///
/// ```swift
/// let network = ManualConnectivityMonitor(.unsatisfied)
/// let offline = PulseConfiguration(baseURL: url).with(\.connectivity, value: network)
/// network.set(.satisfied)
/// ```
///
/// Safe from any thread. Set the status from one task at a time, so that all subscribers see the changes in one order.
public final class ManualConnectivityMonitor: ConnectivityMonitor {
    private let broadcast: Broadcast<ConnectivityStatus>

    /// Creates a monitor with a status; connected by default.
    public init(_ status: ConnectivityStatus = ConnectivityStatus(path: .satisfied)) {
        broadcast = Broadcast(status, bufferSize: 16)
    }

    /// Creates a monitor with a path and nothing else known.
    public convenience init(_ path: ConnectivityStatus.Path) {
        self.init(ConnectivityStatus(path: path))
    }

    public var current: ConnectivityStatus { broadcast.current }
    public var updates: AsyncStream<ConnectivityStatus> { broadcast.updates() }

    /// Sets the status, and notifies all subscribers if it differs from the last.
    public func set(_ status: ConnectivityStatus) {
        broadcast.update(status)
    }

    /// Sets the status to a path with nothing else known, and notifies all subscribers if it differs from the last.
    public func set(_ path: ConnectivityStatus.Path) {
        set(ConnectivityStatus(path: path))
    }
}

extension ConnectivityMonitor where Self == ManualConnectivityMonitor {
    /// A monitor with a status that you set; connected by default.
    public static func manual(_ path: ConnectivityStatus.Path = .satisfied) -> ManualConnectivityMonitor {
        ManualConnectivityMonitor(path)
    }
}
