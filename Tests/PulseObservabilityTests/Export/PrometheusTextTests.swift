// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct PrometheusTextTests {
    private static func snapshot(_ body: (PulseEventBus) -> Void) async -> MetricsSnapshot {
        let collector = PulseMetricsCollector(
            objectives: [ServiceLevelObjective("fast", latency: 1, target: 0.99)], clock: TestClock())
        let bus = PulseEventBus()
        collector.attach(to: bus)
        body(bus)
        return await collector.snapshot()
    }

    private static func lines(_ exporter: PrometheusText = PrometheusText(), _ body: (PulseEventBus) -> Void) async
        -> [String]
    {
        exporter.text(of: await snapshot(body)).split(separator: "\n", omittingEmptySubsequences: false).map(
            String.init)
    }

    @Test func countersHaveNamesTypesAndLabels() async {
        let lines = await Self.lines { bus in
            bus.emitCall(.sample())
            bus.emitCall(.sample(), .error(.http, status: 503))
        }
        for line in [
            "# HELP pulse_requests_total Completed calls, by outcome.", "# TYPE pulse_requests_total counter",
            #"pulse_requests_total{route="GetUser",outcome="succeeded"} 1"#,
            #"pulse_requests_total{route="GetUser",outcome="cancelled"} 0"#,
            #"pulse_request_failures_total{route="GetUser",kind="http"} 1"#,
            #"pulse_responses_total{route="GetUser",status="200"} 1"#,
            "# TYPE pulse_requests_in_flight gauge", #"pulse_requests_in_flight{route="GetUser"} 0"#,
            #"pulse_received_bytes_total{route="GetUser"} 47"#,
            #"pulse_host_requests_total{host="api.example.com",outcome="failed"} 1"#,
            #"pulse_objective_good_total{objective="fast"} 1"#, #"pulse_objective_target{objective="fast"} 0.99"#,
            #"pulse_events_total{kind="requestCompleted"} 2"#,
        ] {
            #expect(lines.contains(line), "\(line)")
        }
        #expect(lines.last == "" && !lines.dropLast().contains(""))
    }

    @Test func histogramBucketsAreCumulativeAndEndWithAllCalls() async {
        let lines = await Self.lines(PrometheusText(buckets: [1, .nan, 0.1, -1, .infinity, 0.01, 0.1])) { bus in
            for latency in [0.005, 0.05, 0.05, 0.5, 5] { bus.emitCall(.sample(), latency: latency) }
        }
        let histogram = lines.filter { $0.hasPrefix("pulse_request_duration_seconds") }
        #expect(
            histogram == [
                #"pulse_request_duration_seconds_bucket{route="GetUser",le="0.01"} 1"#,
                #"pulse_request_duration_seconds_bucket{route="GetUser",le="0.1"} 3"#,
                #"pulse_request_duration_seconds_bucket{route="GetUser",le="1"} 4"#,
                #"pulse_request_duration_seconds_bucket{route="GetUser",le="+Inf"} 5"#,
                #"pulse_request_duration_seconds_sum{route="GetUser"} 5.605"#,
                #"pulse_request_duration_seconds_count{route="GetUser"} 5"#,
            ])
        #expect(lines.contains("# TYPE pulse_request_duration_seconds histogram"))
    }

    @Test func labelValuesAreEscaped() async {
        let lines = await Self.lines { $0.emitCall(.sample(#"a"b\c"#, host: "h")) }
        #expect(lines.contains(#"pulse_attempts_total{route="a\"b\\c"} 1"#))
    }

    @Test func aForeignNameCannotForgeALine() async {
        let lines = await Self.lines { $0.emitCall(.sample("a\"} 1\nforged_total 7\r\u{2028}")) }
        #expect(lines.dropLast().allSatisfy { $0.hasPrefix("# ") || $0.hasPrefix("pulse_") })
        #expect(!lines.contains { $0.hasPrefix("forged") })
    }

    @Test func customLabelsNeverReplaceLabelsOfASample() async {
        let exporter = PrometheusText(
            prefix: "my app", labels: ["instance": "a\nb", "route": "x", "le": "y", "0-x": "z", "0_x": "w"])
        let lines = await Self.lines(exporter) { $0.emitCall(.sample()) }
        #expect(lines.contains { $0.hasPrefix(#"my_app_attempts_total{route="GetUser",_0_x="z",instance="#) })
        #expect(!lines.contains { $0.contains(#"route="GetUser""#) && $0.contains(#"route="x""#) })
        #expect(!lines.contains { $0.contains(#"le="y""#) })
    }

    /// Prometheus reads them itself, and rejects the page if it cannot.
    @Test func sharedLabelsWithNamesOfPrometheusAreIgnored() async {
        var timings = PulseResponse.Timings()
        (timings.firstByte, timings.lastByte) = (0.25, 0.5)
        let record = { [timings] (bus: PulseEventBus) in bus.emitCall(.sample(), .ok(timings: timings)) }
        let plain = await Self.lines(PrometheusText(), record)
        let labels = ["quantile": "a", "le": "b", "__name__": "c", "__x": "d"]
        #expect(await Self.lines(PrometheusText(labels: labels), record) == plain)
    }

    @Test func phasesAreASummary() async {
        var timings = PulseResponse.Timings()
        (timings.firstByte, timings.lastByte) = (0.25, 0.5)
        let lines = await Self.lines { [timings] in $0.emitCall(.sample(), .ok(timings: timings)) }
        #expect(lines.contains("# TYPE pulse_phase_duration_seconds summary"))
        #expect(lines.contains(#"pulse_phase_duration_seconds_sum{route="GetUser",phase="waiting"} 0.25"#))
        #expect(lines.contains(#"pulse_phase_duration_seconds_count{route="GetUser",phase="waiting"} 1"#))
    }

    @Test func statesAreGauges() async {
        let lines = await Self.lines { bus in
            bus.emit(.circuitBreakerOpened(endpoint: "https://a.example"))
            bus.emit(.connectivityChanged(ConnectivityStatus(path: .unsatisfied)))
            bus.emit(.offlineQueueRequestCompleted(id: UUID(), success: false))
        }
        for line in [
            #"pulse_circuit_state{circuit="https://a.example",state="open"} 1"#,
            #"pulse_circuit_state{circuit="https://a.example",state="closed"} 0"#,
            #"pulse_circuit_openings_total{circuit="https://a.example"} 1"#, "pulse_connected 0",
            #"pulse_offline_queue_entries_total{outcome="failed"} 1"#,
        ] {
            #expect(lines.contains(line), "\(line)")
        }
    }

    @Test func socketsHaveAGaugeAndCountersByHost() async {
        let lines = await Self.lines { bus in
            let (open, lost) = (NetworkEvent.CallSummary.sample(), NetworkEvent.CallSummary.sample())
            for socket in [open, lost] { bus.emit(.socketStateChanged(socket, .open(subprotocol: nil))) }
            for code in [1006, 4001] {
                bus.emit(
                    .socketDisconnected(
                        lost,
                        NetworkEvent.SocketDisconnection(
                            code: code, messagesSent: 2, messagesReceived: 3, bytesSent: 40, bytesReceived: 50,
                            unconfirmed: 1)))
            }
            bus.emit(.socketStateChanged(lost, .open(subprotocol: nil)))
            bus.emit(.socketStateChanged(lost, .closing))
        }
        let host = #"host="api.example.com""#
        for line in [
            "# HELP pulse_sockets_open Sockets that are open.", "# TYPE pulse_sockets_open gauge",
            "pulse_sockets_open{\(host)} 1", "# TYPE pulse_socket_connections_total counter",
            "pulse_socket_connections_total{\(host)} 3", "pulse_socket_reconnects_total{\(host)} 1",
            #"pulse_socket_disconnections_total{\#(host),code="1006"} 1"#,
            #"pulse_socket_disconnections_total{\#(host),code="4xxx"} 1"#,
            #"pulse_socket_messages_total{\#(host),direction="sent"} 4"#,
            #"pulse_socket_messages_total{\#(host),direction="received"} 6"#,
            #"pulse_socket_transferred_bytes_total{\#(host),direction="sent"} 80"#,
            #"pulse_socket_transferred_bytes_total{\#(host),direction="received"} 100"#,
            "pulse_socket_unconfirmed_total{\(host)} 2",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
    }

    @Test func withoutCallsThePageHasOnlyObjectives() async {
        let lines = await Self.lines { _ in }
        #expect(lines.dropLast().allSatisfy { $0.contains("pulse_objective_") })
    }

    @Test func noFamilyIsWrittenTwice() async {
        let lines = await Self.lines { bus in
            for event in NetworkEvent.all(of: .sample()) { bus.emit(event) }
        }
        let types = lines.filter { $0.hasPrefix("# TYPE") }
        #expect(types.count > 20 && Set(types).count == types.count)
        let samples = lines.filter { !$0.hasPrefix("#") && !$0.isEmpty }.compactMap { $0.split(separator: " ").first }
        #expect(Set(samples).count == samples.count)
    }
}
