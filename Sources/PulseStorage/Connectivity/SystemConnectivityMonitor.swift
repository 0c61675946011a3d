// SPDX-License-Identifier: MIT

public import PulseCore

/// What the system knows of the way to the network: `NWPathMonitor` on Apple platforms, the kernel's routes on Linux,
/// where a default route over an interface that runs is a way.
///
/// One for the process, started by the first who asks; its status is unknown until the system has answered. Safe from any
/// thread.
public final class SystemConnectivityMonitor: ConnectivityMonitor {
    public static let shared = SystemConnectivityMonitor()

    private let broadcast = StatusBroadcast(ConnectivityStatus(path: .unknown))
    private let source = Locked<(any ConnectivitySource)?>(nil)
    private let makeSource: @Sendable () -> any ConnectivitySource

    init(source: @escaping @Sendable () -> any ConnectivitySource = { PlatformConnectivitySource() }) {
        makeSource = source
    }

    deinit {
        source.withLock { $0 }?.stop()
    }

    public var current: ConnectivityStatus {
        start()
        return broadcast.current
    }

    public var updates: AsyncStream<ConnectivityStatus> {
        start()
        return broadcast.updates()
    }

    private func start() {
        let isFirst = source.withLock { source in
            guard source == nil else { return false }
            source = makeSource()
            return true
        }
        guard isFirst, let source = source.withLock({ $0 }) else { return }
        source.start { [weak broadcast] in broadcast?.set($0) }
    }
}

extension ConnectivityMonitor where Self == SystemConnectivityMonitor {
    /// What the system knows.
    public static var system: SystemConnectivityMonitor { .shared }
}

/// Where a platform's changes come from.
protocol ConnectivitySource: Sendable {
    /// Tells the status now and every change, in order, on a queue of its own.
    func start(_ report: @escaping @Sendable (ConnectivityStatus) -> Void)
    func stop()
}
