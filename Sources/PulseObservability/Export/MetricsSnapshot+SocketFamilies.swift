// SPDX-License-Identifier: MIT

import PulseCore

extension MetricsSnapshot {
    /// The metrics of sockets, by host.
    var socketFamilies: [MetricFamily] {
        [
            sockets("sockets.open", "Sockets that are open.", .gauge) { [([], .integer(Int64($0.open)))] },
            sockets("socket.connections", "How often sockets were opened.") {
                [([], .integer(Int64($0.connections)))]
            },
            sockets("socket.reconnects", "How often sockets were opened again.") {
                [([], .integer(Int64($0.reconnects)))]
            },
            sockets("socket.disconnections", "Connections of sockets that have ended, by close code.") { metrics in
                metrics.disconnections.map { ([("code", Sockets.label(of: $0))], .integer(Int64($1))) }
                    .sorted { $0.0[0].1 < $1.0[0].1 }
            },
            sockets("socket.messages", "Messages over connections of sockets that have ended.") { metrics in
                Self.directions(Int64(metrics.messagesSent), Int64(metrics.messagesReceived))
            },
            sockets(
                "socket.transferred", "Bytes over connections of sockets that have ended, after the handshakes.",
                .counter, .bytes
            ) { Self.directions($0.bytesSent, $0.bytesReceived) },
            sockets("socket.unconfirmed", "Messages that were unconfirmed at the end of their connection.") {
                [([], .integer(Int64($0.unconfirmed)))]
            },
        ]
    }

    private static func directions(_ sent: Int64, _ received: Int64) -> [MetricFamily.Labeled] {
        [([("direction", "sent")], .integer(sent)), ([("direction", "received")], .integer(received))]
    }

    private func sockets(
        _ name: String, _ help: String, _ kind: MetricFamily.Kind = .counter, _ unit: MetricFamily.Unit = .none,
        _ samples: (Sockets) -> [MetricFamily.Labeled]
    ) -> MetricFamily {
        MetricFamily(name, help, kind, unit) {
            socketHosts.sorted { $0.key < $1.key }.flatMap { host, metrics in
                samples(metrics).map { ([("host", host)] + $0.0, $0.1) }
            }
        }
    }
}
