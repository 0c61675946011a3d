// SPDX-License-Identifier: MIT

#if canImport(Network)
import Network
import PulseCore

/// Reports the status of an `NWPathMonitor`.
final class PlatformConnectivitySource: ConnectivitySource, @unchecked Sendable {
    // Unchecked: the monitor is not Sendable in every SDK. Its handler is set once, before it starts.
    private let queue = DispatchQueue(label: "com.pulse.connectivity")
    private let monitor = NWPathMonitor()
    private let hasShownPath = Locked(false)

    func start(_ report: @escaping @Sendable (ConnectivityStatus) -> Void) {
        monitor.pathUpdateHandler = { [hasShownPath] in report(Self.status($0, hasShownPath)) }
        monitor.start(queue: queue)
    }

    func stop() {
        monitor.cancel()
    }

    private static func status(_ path: NWPath, _ hasShownPath: Locked<Bool>) -> ConnectivityStatus {
        var interfaces: Set<ConnectivityStatus.Interface> = []
        if path.usesInterfaceType(.wifi) { interfaces.insert(.wifi) }
        if path.usesInterfaceType(.cellular) { interfaces.insert(.cellular) }
        if path.usesInterfaceType(.wiredEthernet) { interfaces.insert(.wired) }
        if path.usesInterfaceType(.loopback) { interfaces.insert(.loopback) }
        if path.usesInterfaceType(.other) { interfaces.insert(.other) }
        // `requiresConnection` counts as satisfied: a request may establish the connection.
        let isSatisfied = path.status != .unsatisfied
        #if os(watchOS)
        // Only some apps may use Network.framework there. It never shows a path to the others, though URLSession has
        // one (TN3135).
        let withoutPath = hasShownPath.withLock { hasShown -> ConnectivityStatus.Path in
            hasShown = hasShown || isSatisfied
            return hasShown ? .unsatisfied : .unknown
        }
        #else
        let withoutPath = ConnectivityStatus.Path.unsatisfied
        #endif
        return ConnectivityStatus(
            path: isSatisfied ? .satisfied : withoutPath, interfaces: interfaces,
            isExpensive: path.isExpensive, isConstrained: path.isConstrained)
    }
}
#endif
