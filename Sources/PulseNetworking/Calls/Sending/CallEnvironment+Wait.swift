// SPDX-License-Identifier: MIT

import PulseCore

extension CallEnvironment {
    /// Waits the given seconds, or until the network is restored or the task is cancelled.
    package func wait(_ seconds: TimeInterval) async {
        // Subscribed before the sleep begins, so that no change during it is missed.
        let updates = connectivity?.updates
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { [clock] in
                try? await clock.sleep(seconds, for: .backoff)
                return true
            }
            if let updates {
                group.addTask { await Self.comesBack(updates) }
            }
            while let isOver = await group.next(), !isOver {}
            group.cancelAll()
        }
    }

    /// Waits for a network path after there was none; false if the updates end before.
    private static func comesBack(_ updates: AsyncStream<ConnectivityStatus>) async -> Bool {
        var wasMissing = false
        for await status in updates {
            if wasMissing, status.path != .unsatisfied { return true }
            wasMissing = status.path == .unsatisfied
        }
        return false
    }
}
