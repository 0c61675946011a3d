// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import TestSupport
import Testing

@Suite(.throttled)
struct EventLogSinkTests {
    private final class Log: EventLogSink.Output {
        private let written = Locked<[EventLogSink.Record]>([])
        var records: [EventLogSink.Record] { written.withLock { $0 } }
        func write(_ record: EventLogSink.Record) { written.withLock { $0.append(record) } }
    }

    private static func records(_ level: PulseConfiguration.LogLevel, _ events: [NetworkEvent]) -> [EventLogSink.Record]
    {
        let log = Log()
        let sink = EventLogSink(level: level, output: log)
        let bus = PulseEventBus(sink: sink)
        events.forEach(bus.emit)
        return log.records
    }

    @Test(arguments: [
        (PulseConfiguration.LogLevel.none, 0), (.error, 3), (.warning, 10), (.info, 18), (.debug, 23),
    ])
    func writesTheEventsOfItsLevel(level: PulseConfiguration.LogLevel, count: Int) {
        #expect(Self.records(level, NetworkEvent.all(of: .sample())).count == count)
    }

    @Test func aRecordNamesItsCall() {
        let trace = "0af7651916cd43dd8448eb211c80319c"
        let call = NetworkEvent.CallSummary.sample(traceID: trace)
        let record = Self.records(.info, [.requestCompleted(.ok(), call, latency: 0.012)]).first
        #expect(record?.level == .info)
        #expect(record?.message == "GET api.example.com/users/42 200, 47 bytes in 12 ms")
        #expect(
            record?.metadata == [
                "call": call.id.uuidString, "method": "GET", "host": "api.example.com", "route": "GetUser",
                "attempt": "1", "trace": trace,
            ])
        #expect(Self.records(.warning, [.warning("w")]).first?.metadata == [:])
    }

    @Test func aRecordIsOneLineWithoutSecrets() {
        let records = Self.records(.debug, NetworkEvent.all(of: .sample("a\nb"), text: "token=hunter2\r\nforged\u{1B}"))
        let texts = records.flatMap { [$0.message] + $0.metadata.values }
        #expect(texts.count > 20)
        #expect(!texts.contains { $0.contains("hunter2") || $0.contains("\n") || $0.contains("\u{1B}") })
    }

    @Test func aSocketIsLogged() {
        let (call, error) = (NetworkEvent.CallSummary.sample(), PulseError.socketClosed(code: 1008, reason: "hunter2"))
        let states: [SocketState] = [
            .idle, .connecting(attempt: 1), .open(subprotocol: "chat"),
            .reconnecting(after: error, attempt: 2, delay: 0.5, unconfirmed: 3), .closing, .closed(nil),
            .closed(.socketClosed(code: 1000, reason: "")), .closed(error),
        ]
        let end = NetworkEvent.SocketDisconnection(code: 1012, reason: "hunter2", endedBy: .server, bytesSent: 7)
        let records = Self.records(
            .debug, states.map { .socketStateChanged(call, $0) } + [.socketDisconnected(call, end)])
        #expect(records.map(\.level) == [.debug, .debug, .info, .warning, .debug, .info, .info, .error, .info])
        let name = "GET api.example.com/users/42 socket"
        #expect(records[2].message == "\(name) open, subprotocol chat")
        #expect(records[3].message == "\(name) attempt 2 in 500 ms, 3 messages unconfirmed: socket closed, 1008")
        #expect(records[7].message == "\(name) closed: socket closed, 1008")
        #expect(
            records[8].message == "\(name) closed by the server with 1012 after 0 ms: sent 0 messages in 7 bytes, "
                + "received 0 messages in 0 bytes")
        #expect(records.allSatisfy { $0.metadata["call"] == call.id.uuidString })
    }

    @Test func aSinkThatWritesNothingIsNotActive() {
        #expect(!EventLogSink(level: .none, output: Log()).isActive)
    }
}
