// SPDX-License-Identifier: MIT

import Network
import PulseKit
import TestSupport
import Testing

/// The paths of `NWPathMonitor` as the statuses of the system's monitor.
@Suite(.throttled, .serialized)
struct PathMonitorTests {
    @Test func pathsBecomeStatuses() async throws {
        let monitor = SystemConnectivityMonitor.shared
        var statuses = monitor.updates.makeAsyncIterator()
        #expect(await statuses.next()?.path == .unknown)
        for (path, expected) in [
            (NWPath(.unsatisfied), ConnectivityStatus(path: .unsatisfied)),
            (NWPath(.satisfied, .wifi), ConnectivityStatus(path: .satisfied, interfaces: [.wifi])),
            (
                NWPath(.satisfied, .cellular, isExpensive: true, isConstrained: true),
                ConnectivityStatus(path: .satisfied, interfaces: [.cellular], isExpensive: true, isConstrained: true)
            ),
            (
                NWPath(.requiresConnection, .wiredEthernet, .loopback, .other),
                ConnectivityStatus(path: .satisfied, interfaces: [.wired, .loopback, .other])
            ),
        ] {
            NWPathMonitor.show(path)
            #expect(await statuses.next() == expected)
        }
    }
}
