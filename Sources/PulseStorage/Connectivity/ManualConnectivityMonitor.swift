// SPDX-License-Identifier: MIT

public import PulseCore

/// A monitor that says what it is told, for tests and previews. Safe from any thread; set it from one at a time, so that
/// all subscribers see one order.
public final class ManualConnectivityMonitor: ConnectivityMonitor {
    private let broadcast: StatusBroadcast

    public init(_ status: ConnectivityStatus = ConnectivityStatus(path: .satisfied)) {
        broadcast = StatusBroadcast(status)
    }

    public convenience init(_ path: ConnectivityStatus.Path) {
        self.init(ConnectivityStatus(path: path))
    }

    public var current: ConnectivityStatus { broadcast.current }
    public var updates: AsyncStream<ConnectivityStatus> { broadcast.updates() }

    public func set(_ status: ConnectivityStatus) {
        broadcast.set(status)
    }

    public func set(_ path: ConnectivityStatus.Path) {
        set(ConnectivityStatus(path: path))
    }
}

extension ConnectivityMonitor where Self == ManualConnectivityMonitor {
    /// A monitor that says what it is told.
    public static func manual(_ path: ConnectivityStatus.Path = .satisfied) -> ManualConnectivityMonitor {
        ManualConnectivityMonitor(path)
    }
}
