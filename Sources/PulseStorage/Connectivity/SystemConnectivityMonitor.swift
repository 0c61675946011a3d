// SPDX-License-Identifier: MIT

public import PulseCore

/// The system's view of the network path: `NWPathMonitor` on Apple platforms, the kernel's routes on Linux, where a
/// default route over a running interface counts as a path.
///
/// The process has one monitor, started by its first use. Its status is unknown until the system has reported it. Safe
/// from any thread.
public final class SystemConnectivityMonitor: ConnectivityMonitor {
    /// The monitor of the process. Nothing is started before its first use.
    public static let shared = SystemConnectivityMonitor()

    private let broadcast = Broadcast(ConnectivityStatus(path: .unknown), bufferSize: 16)
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
        source.start { [weak broadcast] in broadcast?.update($0) }
    }
}

extension ConnectivityMonitor where Self == SystemConnectivityMonitor {
    /// The monitor of the process, ``SystemConnectivityMonitor/shared``.
    public static var system: SystemConnectivityMonitor { .shared }
}

/// A source of a platform's status changes.
protocol ConnectivitySource: Sendable {
    /// Reports the current status and every change, in order, on its own queue.
    func start(_ report: @escaping @Sendable (ConnectivityStatus) -> Void)
    func stop()
}
