// SPDX-License-Identifier: MIT

public import PulseCore

/// A monitor whose status is set by hand, for tests and previews.
///
/// Safe from any thread. Set the status from one task at a time, so that all subscribers see the changes in one order.
public final class ManualConnectivityMonitor: ConnectivityMonitor {
    private let broadcast: Broadcast<ConnectivityStatus>

    /// Creates a monitor with that status; connected by default.
    public init(_ status: ConnectivityStatus = ConnectivityStatus(path: .satisfied)) {
        broadcast = Broadcast(status, bufferSize: 16)
    }

    /// Creates a monitor with that path and nothing else known.
    public convenience init(_ path: ConnectivityStatus.Path) {
        self.init(ConnectivityStatus(path: path))
    }

    public var current: ConnectivityStatus { broadcast.current }
    public var updates: AsyncStream<ConnectivityStatus> { broadcast.updates() }

    /// Sets the status and notifies all subscribers, unless it is the same as before.
    public func set(_ status: ConnectivityStatus) {
        broadcast.update(status)
    }

    /// Sets the status to that path with nothing else known, and notifies all subscribers, unless it is the same as
    /// before.
    public func set(_ path: ConnectivityStatus.Path) {
        set(ConnectivityStatus(path: path))
    }
}

extension ConnectivityMonitor where Self == ManualConnectivityMonitor {
    /// A monitor that is set by hand; connected by default.
    public static func manual(_ path: ConnectivityStatus.Path = .satisfied) -> ManualConnectivityMonitor {
        ManualConnectivityMonitor(path)
    }
}
