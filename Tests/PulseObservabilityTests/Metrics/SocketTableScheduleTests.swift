// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseObservability

/// A seeded random schedule with lost events against the latest states; `PULSE_STEPS` sets its length.
@Suite(.tags(.schedule), .throttled)
struct SocketTableScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000

    /// A socket, and what was seen of it.
    private struct Model {
        let socket: NetworkEvent.CallSummary
        var isOpen = false
        var wasOpen = false
    }

    private struct Counts {
        var connections = 0
        var reconnects = 0
        var ends: [Int: Int] = [:]
        var bytes: Int64 = 0
    }

    @Test @HeavyWork func countsFollowTheLatestStates() {
        let random = SplitMix(seed: 27)
        var metrics = MetricsState(maxRoutes: 4, maxHosts: 2, objectives: [])
        var (sockets, expected): ([Model], Counts) = ([], Counts())
        for step in 0..<Self.steps {
            if sockets.count < 50, random.below(4) == 0 {
                sockets.append(Model(socket: .sample(host: "h\(random.below(4))")))
            }
            guard !sockets.isEmpty else { continue }
            let index = random.below(sockets.count)
            // Any event may follow any other, since those between may be lost.
            switch random.below(9) {
            case 0...2:
                metrics.apply(.socketStateChanged(sockets[index].socket, .open(subprotocol: nil)), at: 0)
                expected.connections += 1
                if sockets[index].wasOpen { expected.reconnects += 1 }
                (sockets[index].isOpen, sockets[index].wasOpen) = (true, true)
            case 3:
                metrics.apply(.socketStateChanged(sockets[index].socket, Self.loss), at: 0)
                (sockets[index].isOpen, sockets[index].wasOpen) = (false, true)
            case 4:
                let state = random.below(2) == 0 ? SocketState.connecting(attempt: 1) : .closing
                metrics.apply(.socketStateChanged(sockets[index].socket, state), at: 0)
                sockets[index].isOpen = false
            case 5, 6:
                let code = [1000, 1006, 3000, 4000][random.below(4)]
                let end = NetworkEvent.SocketDisconnection(code: code, bytesSent: Int64(step))
                metrics.apply(.socketDisconnected(sockets[index].socket, end), at: 0)
                expected.ends[code, default: 0] += 1
                expected.bytes += Int64(step)
                sockets[index].isOpen = false
            case 7:
                let state = random.below(2) == 0 ? SocketState.idle : .closed(nil)
                metrics.apply(.socketStateChanged(sockets[index].socket, state), at: 0)
                sockets.remove(at: index)
            default:
                guard random.below(100) == 0 else { continue }
                metrics.reset()
                expected = Counts()
            }
            expect(metrics.counts.sockets, sockets, expected, "seed 27, step \(step)")
        }
        metrics.forgetInFlight()
        #expect(metrics.counts.sockets.total.open == 0)
    }

    private static let loss = SocketState.reconnecting(after: .noConnection, attempt: 1, delay: 1, unconfirmed: 0)

    private func expect(_ counts: SocketCounts, _ sockets: [Model], _ expected: Counts, _ comment: Comment) {
        let total = counts.total
        #expect(total.open == sockets.count { $0.isOpen }, comment)
        #expect(total.connections == expected.connections && total.reconnects == expected.reconnects, comment)
        #expect(total.disconnections == expected.ends && total.bytesSent == expected.bytes, comment)
        #expect(counts.hosts.values.allSatisfy { $0.open >= 0 } && counts.hosts.count <= 3, comment)
    }
}
