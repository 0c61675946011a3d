// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import TestSupport
import Testing

@Suite(.throttled, .timeLimit(.minutes(5)))
struct EventLogSinkTests {
    private final class Log: EventLogOutput {
        private let written = Locked<[EventLogRecord]>([])
        var records: [EventLogRecord] { written.withLock { $0 } }
        func write(_ record: EventLogRecord) { written.withLock { $0.append(record) } }
    }

    private static func records(_ level: PulseConfiguration.LogLevel, _ events: [NetworkEvent]) -> [EventLogRecord] {
        let log = Log()
        let sink = EventLogSink(level: level, output: log)
        let bus = PulseEventBus()
        bus.addSink(sink)
        events.forEach(bus.emit)
        return log.records
    }

    @Test(arguments: [
        (PulseConfiguration.LogLevel.none, 0), (.error, 3), (.warning, 10), (.info, 16), (.debug, 21),
    ])
    func writesTheEventsOfItsLevel(level: PulseConfiguration.LogLevel, count: Int) {
        #expect(Self.records(level, NetworkEvent.all(of: .sample())).count == count)
    }

    @Test func aRecordNamesItsCall() {
        let trace = "0af7651916cd43dd8448eb211c80319c"
        let call = CallSummary.sample(traceID: trace)
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

    @Test func aSinkThatWritesNothingIsNotActive() {
        #expect(!EventLogSink(level: .none, output: Log()).isActive)
    }
}
