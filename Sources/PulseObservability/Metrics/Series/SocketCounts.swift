// SPDX-License-Identifier: MIT

import PulseCore

/// Counts of sockets by host. Hosts beyond a maximum share the name ``SeriesName/other``.
struct SocketCounts: Sendable {
    private let maxHosts: Int
    private(set) var hosts: [String: MetricsSnapshot.Sockets] = [:]

    /// - Parameter maxHosts: a negative number counts as 0.
    init(maxHosts: Int) {
        self.maxHosts = max(0, maxHosts)
    }

    var total: MetricsSnapshot.Sockets { hosts.values.reduce(into: MetricsSnapshot.Sockets()) { $0.merge($1) } }

    /// The name under which a host is counted.
    func name(of host: String) -> String {
        let name = SeriesName.shown(host)
        let count = hosts.count - (hosts[SeriesName.other] == nil ? 0 : 1)
        return hosts[name] != nil || count < maxHosts ? name : SeriesName.other
    }

    mutating func update(_ name: String, _ body: (inout MetricsSnapshot.Sockets) -> Void) {
        body(&hosts[name, default: MetricsSnapshot.Sockets()])
    }

    /// Clears all counts. Open sockets stay.
    mutating func reset() {
        hosts = hosts.compactMapValues { old in
            guard old.open > 0 else { return nil }
            var new = MetricsSnapshot.Sockets()
            new.open = old.open
            return new
        }
    }

    mutating func forgetOpen() {
        for name in hosts.keys { hosts[name]?.open = 0 }
    }
}
