// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import TestSupport
import Testing

@Suite(.throttled)
struct MetricsOutputSinkTests {
    private final class Output: MetricsOutputSink.Output {
        private let written = Locked<[String]>([])
        var lines: [String] { written.withLock { $0 } }

        func increment(_ counter: String, by count: Int64, labels: [(String, String)]) {
            add("\(counter) \(count)", labels)
        }

        func record(_ timer: String, seconds: TimeInterval, labels: [(String, String)]) {
            add("\(timer) \(seconds)", labels)
        }

        private func add(_ text: String, _ labels: [(String, String)]) {
            written.withLock { $0.append(([text] + labels.map { "\($0)=\($1)" }).joined(separator: " ")) }
        }
    }

    private static func lines(_ sink: (Output) -> MetricsOutputSink, _ events: [NetworkEvent]) -> [String] {
        let output = Output()
        let sink = sink(output)
        events.forEach(sink.emit)
        return output.lines
    }

    @Test func eventsBecomeMeasurements() {
        let lines = Self.lines({ MetricsOutputSink(output: $0) }, NetworkEvent.all(of: .sample()))
        let call = "route=GetUser host=api.example.com"
        #expect(
            lines == [
                "pulse.attempts 1 \(call)", "pulse.responses 1 \(call) status=200", "pulse.received 47 \(call)",
                "pulse.retries 1 \(call)", "pulse.cache.requests 1 \(call) result=hit",
                "pulse.cache.requests 1 \(call) result=miss", "pulse.cache.requests 1 \(call) result=revalidated",
                "pulse.circuit.openings 1 circuit=text", "pulse.socket.connections 1 \(call)",
                "pulse.socket.disconnections 1 \(call) code=1012", "pulse.socket.messages 2 \(call) direction=sent",
                "pulse.socket.transferred 40 \(call) direction=sent",
                "pulse.socket.messages 3 \(call) direction=received",
                "pulse.socket.transferred 50 \(call) direction=received", "pulse.requests 1 \(call) outcome=succeeded",
                "pulse.request.duration 0.012 \(call) outcome=succeeded",
            ])
    }

    @Test func labelsAreBounded() {
        let events = (0..<1000).map {
            NetworkEvent.attemptStarted(.sample("route \($0)", host: String(repeating: "h\($0)", count: 500)))
        }
        let lines = Self.lines({ MetricsOutputSink(output: $0, maxRoutes: 2, maxHosts: 1) }, events)
        #expect(Set(lines).count == 3)
        #expect(lines.allSatisfy { $0.utf8.count < 300 })
    }

    /// A custom breaker may use a circuit for each path, or for each user.
    @Test func circuitsAreBounded() {
        let lines = Self.lines(
            { MetricsOutputSink(output: $0) }, (0..<1000).map { .circuitBreakerOpened(endpoint: "circuit \($0)") })
        #expect(lines.count == 1000)
        #expect(Set(lines).count == 201)
        #expect(lines.last == "pulse.circuit.openings 1 circuit=other")
    }

    @Test(arguments: [TimeInterval.nan, -1, .infinity, -.infinity, 1e300])
    func everyDurationIsSafeForMetricsSystems(latency: TimeInterval) {
        let lines = Self.lines(
            { MetricsOutputSink(output: $0) }, [.requestCompleted(.error(.timeout), .sample(), latency: latency)])
        let seconds = lines.last?.split(separator: " ").dropFirst().first.flatMap { Double($0) }
        #expect(seconds.map { (0...86_400).contains($0) } == true)
    }

    @Test func aCancelledCallIsCountedAndNotTimed() {
        let lines = Self.lines(
            { MetricsOutputSink(output: $0) }, [.requestCompleted(.error(.cancelled), .sample(), latency: 1)])
        #expect(lines == ["pulse.requests 1 route=GetUser host=api.example.com outcome=cancelled"])
    }

    @Test func codesOfSocketsAreBounded() {
        let lines = Self.lines(
            { MetricsOutputSink(output: $0) },
            (0..<6000).map { .socketDisconnected(.sample(), NetworkEvent.SocketDisconnection(code: $0, bytesSent: -1)) }
        )
        let ends = Set(lines.filter { $0.hasPrefix("pulse.socket.disconnections") })
        #expect(ends.count == 19 && ends.contains { $0.hasSuffix("code=other") })
        #expect(ends.contains { $0.hasSuffix("code=1015") } && ends.contains { $0.hasSuffix("code=4xxx") })
        #expect(!lines.contains { $0.contains(" -1 ") })
    }

    @Test(arguments: [Int.min, Int.max])
    func anyByteCountIsReported(bytes: Int) {
        let lines = Self.lines(
            { MetricsOutputSink(output: $0) }, [.responseReceived(.sample(), status: 9999, byteCount: bytes)])
        #expect(lines.first?.hasSuffix("status=invalid") == true)
    }
}
