// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

/// The server's record in a case: that of a ``MockServer``, or the log of a ``SimulatedServer``.
protocol ConformanceServer: Sendable {
    var activity: MockServer.Activity { get }
    @discardableResult
    func wait(until condition: @escaping @Sendable (MockServer.Activity) -> Bool) async throws -> MockServer.Activity
}

extension MockServer: ConformanceServer {}
extension ActivityLog: ConformanceServer {}
