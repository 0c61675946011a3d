// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore
import PulsePlatform

/// The kernel's routes and interfaces, watched through rtnetlink.
final class PlatformConnectivitySource: ConnectivitySource {
    private let queue = DispatchQueue(label: "com.pulse.connectivity")
    private let source = Locked<ReadinessSource?>(nil)

    /// If a sandbox forbids rtnetlink or no descriptor is free, only the initial status is reported.
    func start(_ report: @escaping @Sendable (ConnectivityStatus) -> Void) {
        let descriptor = pulse_netlink_open()
        if descriptor >= 0 { watch(descriptor, report) }
        // After the subscription, so that no change is missed.
        queue.async { report(Self.status()) }
    }

    private func watch(_ descriptor: Int32, _ report: @escaping @Sendable (ConnectivityStatus) -> Void) {
        guard let poller = try? ReadinessPoller.shared() else { return pulse_netlink_close(descriptor) }
        let source = ReadinessSource(.read, of: descriptor, by: poller, on: queue) {
            // Read everything again after any change: messages may be lost under load.
            pulse_netlink_drain(descriptor)
            report(Self.status())
        } onCancel: {
            pulse_netlink_close(descriptor)
        }
        self.source.withLock { $0 = source }
        source.resume()
    }

    func stop() {
        source.withLock { $0.take() }?.cancel()
    }

    static func status() -> ConnectivityStatus {
        let routes = pulse_default_routes()
        var interfaces: Set<ConnectivityStatus.Interface> = []
        if routes & PULSE_ROUTE_WIRELESS != 0 { interfaces.insert(.wifi) }
        if routes & PULSE_ROUTE_CELLULAR != 0 { interfaces.insert(.cellular) }
        if routes & PULSE_ROUTE_WIRED != 0 { interfaces.insert(.wired) }
        if routes & PULSE_ROUTE_OTHER != 0 { interfaces.insert(.other) }
        return ConnectivityStatus(
            path: routes == 0 ? .unsatisfied : .satisfied, interfaces: interfaces,
            isExpensive: routes == PULSE_ROUTE_CELLULAR)
    }
}
#endif
