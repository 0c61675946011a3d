// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseObservability

@Suite(.throttled)
struct SocketMetricsTests {
    private let bus = PulseEventBus()
    private let lost = SocketState.reconnecting(after: .noConnection, attempt: 1, delay: 1, unconfirmed: 0)

    private func collector(maxHosts: Int = 50) -> PulseMetricsCollector {
        let collector = PulseMetricsCollector(maxHosts: maxHosts, clock: TestClock())
        collector.attach(to: bus)
        return collector
    }

    private func emit(_ socket: NetworkEvent.CallSummary, _ states: SocketState...) {
        for state in states { bus.emit(.socketStateChanged(socket, state)) }
    }

    @Test func openSocketsAreThoseWhoseLatestStateIsOpen() async {
        let collector = collector()
        let (one, two) = (NetworkEvent.CallSummary.sample(), NetworkEvent.CallSummary.sample(host: "ws.example.com"))
        emit(one, .connecting(attempt: 1), .open(subprotocol: nil))
        emit(two, .connecting(attempt: 1), .open(subprotocol: nil))
        #expect(await collector.snapshot().sockets.open == 2)
        emit(one, lost, .connecting(attempt: 1))
        emit(two, .closing)
        #expect(await collector.snapshot().sockets.open == 0)
        emit(one, .open(subprotocol: nil))
        emit(two, .closed(nil))
        let snapshot = await collector.snapshot()
        #expect(snapshot.sockets.open == 1 && snapshot.sockets.connections == 3 && snapshot.sockets.reconnects == 1)
        #expect(snapshot.socketHosts["api.example.com"]?.reconnects == 1)
        #expect(snapshot.socketHosts["ws.example.com"].map { $0.connections == 1 && $0.reconnects == 0 } == true)
        #expect(snapshot.total.completed == 0)
    }

    /// A socket whose first attempt failed has not been open: the next one is no reconnect.
    @Test func aFirstAttemptIsNoReconnect() async {
        let collector = collector()
        emit(.sample(), .connecting(attempt: 1), .idle, .connecting(attempt: 1), .open(subprotocol: nil))
        #expect(await collector.snapshot().sockets.reconnects == 0)
    }

    @Test func endsAreCountedByCodeWithTheirFigures() async {
        let (collector, socket) = (collector(), NetworkEvent.CallSummary.sample())
        for code in [1000, 1006, 1006, 1015, 999, 1016, 2999, 3000, 3999, 4000, 4999, 5000, Int.min, .max] {
            bus.emit(
                .socketDisconnected(
                    socket,
                    NetworkEvent.SocketDisconnection(
                        code: code, messagesSent: 1, messagesReceived: 2, bytesSent: 30, bytesReceived: 40,
                        unconfirmed: 5)))
        }
        let sockets = await collector.snapshot().sockets
        #expect(sockets.disconnections == [1000: 1, 1006: 2, 1015: 1, 3000: 2, 4000: 2, 0: 6])
        #expect(sockets.messagesSent == 14 && sockets.messagesReceived == 28 && sockets.unconfirmed == 70)
        #expect(sockets.bytesSent == 420 && sockets.bytesReceived == 560)
        // The end alone opens nothing.
        #expect(sockets.open == 0 && sockets.connections == 0)
    }

    @Test func figuresOfOtherToolsNeitherOverflowNorCountDown() async {
        let (collector, socket) = (collector(), NetworkEvent.CallSummary.sample())
        for number in [Int.max, .max, .min, -1] {
            bus.emit(
                .socketDisconnected(
                    socket,
                    NetworkEvent.SocketDisconnection(
                        code: 1000, messagesSent: number, messagesReceived: number, bytesSent: Int64(number),
                        bytesReceived: Int64(number), unconfirmed: number)))
        }
        let sockets = await collector.snapshot().sockets
        #expect(sockets.messagesSent == .max && sockets.bytesSent == .max && sockets.unconfirmed == .max)
    }

    @Test func hostsAreBounded() async {
        let collector = collector(maxHosts: 2)
        for number in 0..<100 {
            let socket = NetworkEvent.CallSummary.sample(host: "h\(number)")
            emit(socket, .open(subprotocol: nil))
            bus.emit(.socketDisconnected(socket, NetworkEvent.SocketDisconnection(code: 1000)))
            emit(socket, .closed(nil))
        }
        let snapshot = await collector.snapshot()
        #expect(Set(snapshot.socketHosts.keys) == ["h0", "h1", "other"])
        #expect(snapshot.socketHosts["other"]?.connections == 98 && snapshot.sockets.disconnections == [1000: 100])
    }

    @Test func aResetKeepsOpenSocketsAndADetachForgetsThem() async {
        let (collector, socket) = (collector(), NetworkEvent.CallSummary.sample())
        emit(socket, .open(subprotocol: nil))
        collector.reset()
        var sockets = await collector.snapshot().sockets
        #expect(sockets.open == 1 && sockets.connections == 0)
        emit(socket, lost, .open(subprotocol: nil))
        sockets = await collector.snapshot().sockets
        #expect(sockets.open == 1 && sockets.reconnects == 1)
        collector.detach()
        #expect(await collector.snapshot().sockets.open == 0)
        collector.attach(to: bus)
        // Its present state is not known before it changes.
        emit(socket, .closing, .closed(nil))
        #expect(await collector.snapshot().sockets.open == 0)
    }

    /// Sockets whose ends are never seen make room for later ones.
    @Test func aMissedEndDoesNotCountForever() {
        var (table, counts) = (SocketTable(maximum: 3), SocketCounts(maxHosts: 5))
        for number in 0..<10 {
            table.apply(.open(subprotocol: nil), of: .sample(host: "h\(number % 2)"), to: &counts)
            #expect(counts.total.open == min(3, number + 1))
        }
        #expect(counts.total.connections == 10 && counts.total.reconnects == 0)
    }
}
