// SPDX-License-Identifier: MIT

import PulseCore

/// The names of the authentication events, in order.
final class AuthEvents: EventSink {
    private let names = Locked<[String]>([])

    var isActive: Bool { true }
    var all: [String] { names.withLock { $0 } }

    func emit(_ event: NetworkEvent) {
        let name: String
        switch event {
        case .authRefreshStarted: name = "started"
        case .authRefreshSucceeded: name = "succeeded"
        case .authRefreshFailed(_, let error): name = "failed: \(error.kind)"
        case .sessionExpired: name = "expired"
        case .warning: name = "warning"
        default: return
        }
        names.withLock { $0.append(name) }
    }
}
