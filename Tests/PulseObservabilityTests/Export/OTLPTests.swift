// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

/// Checks the JSON's form. IntegrationTests check that OpenTelemetry's own definitions can read it.
@Suite(.throttled)
struct OTLPTests {
    private let resource = OTLPUpload.Resource(
        serviceName: "shop", serviceVersion: "1.2", attributes: ["deployment.environment.name": "test"])
    private let clock = TestClock()

    private func metrics(_ body: (PulseEventBus) -> Void) async throws -> [String: JSONValue] {
        let collector = PulseMetricsCollector(clock: clock)
        let bus = PulseEventBus()
        collector.attach(to: bus)
        body(bus)
        await clock.advance(by: 60)
        let json = try OTLPMetrics(resource: resource, buckets: [0.1, 1]).json(of: await collector.snapshot())
        let value = try JSONDecoder().decode(JSONValue.self, from: json)
        let scope = try #require(value["resourceMetrics"]?[0]?["scopeMetrics"]?[0])
        #expect(scope["scope"]?["name"] == "PulseKit")
        guard case .array(let metrics)? = scope["metrics"] else { return [:] }
        return Dictionary(uniqueKeysWithValues: metrics.map { ($0["name"]?.stringValue ?? "", $0) })
    }

    private static func attributes(_ value: JSONValue?) -> [String: JSONValue] {
        guard case .array(let attributes)? = value else { return [:] }
        return Dictionary(attributes.map { ($0["key"]?.stringValue ?? "", $0["value"] ?? .null) }) { $1 }
    }

    @Test func countersAreCumulativeSumsWithIntegersAsText() async throws {
        let metrics = try await metrics { $0.emitCall(.sample()) }
        let metric = try #require(metrics["pulse.attempts"])
        #expect(metric["sum"]?["aggregationTemporality"] == 2 && metric["sum"]?["isMonotonic"] == true)
        let point = try #require(metric["sum"]?["dataPoints"]?[0])
        #expect(point["asInt"] == "1")
        #expect(point["startTimeUnixNano"] == "1767225600000000000")
        #expect(point["timeUnixNano"] == "1767225660000000000")
        #expect(Self.attributes(point["attributes"]) == ["url.template": ["stringValue": "GetUser"]])
    }

    /// As in the traces, and in OpenTelemetry's conventions.
    @Test func theStatusOfAResponseIsANumber() async throws {
        let metrics = try await metrics { $0.emitCall(.sample()) }
        let point = try #require(metrics["pulse.responses"]?["sum"]?["dataPoints"]?[0])
        #expect(Self.attributes(point["attributes"])["http.response.status_code"] == ["intValue": "200"])
    }

    @Test func histogramBucketsAreNotCumulativeAndHaveOneCountMoreThanBounds() async throws {
        let metrics = try await metrics { bus in
            for latency in [0.05, 0.5, 0.5, 5] { bus.emitCall(.sample(), latency: latency) }
        }
        let histogram = try #require(metrics["pulse.request.duration"])
        #expect(histogram["unit"] == "s")
        let point = try #require(histogram["histogram"]?["dataPoints"]?[0])
        #expect(point["count"] == "4" && point["bucketCounts"] == ["1", "2", "1"])
        #expect(point["explicitBounds"] == [0.1, 1] && point["min"] == 0.05 && point["max"]?.numberValue == 5)
    }

    @Test func aGaugeHasNoStart() async throws {
        let metrics = try await metrics { $0.emit(.requestStarted(.sample())) }
        let point = try #require(metrics["pulse.requests.in_flight"]?["gauge"]?["dataPoints"]?[0])
        #expect(point["asInt"] == "1" && point["startTimeUnixNano"] == nil && point["timeUnixNano"] != nil)
    }

    @Test func socketsHaveTheirHostAndCode() async throws {
        let metrics = try await metrics { bus in
            bus.emit(.socketStateChanged(.sample(), .open(subprotocol: nil)))
            bus.emit(.socketDisconnected(.sample(), NetworkEvent.SocketDisconnection(code: 1006, bytesSent: 40)))
        }
        #expect(metrics["pulse.sockets.open"]?["gauge"]?["dataPoints"]?[0]?["asInt"] == "1")
        let end = try #require(metrics["pulse.socket.disconnections"]?["sum"]?["dataPoints"]?[0])
        #expect(
            Self.attributes(end["attributes"]) == [
                "server.address": ["stringValue": "api.example.com"], "pulse.code": ["stringValue": "1006"],
            ])
        #expect(metrics["pulse.socket.transferred"]?["unit"] == "By")
    }

    private func spans(
        _ results: [Result<NetworkEvent.ResponseSummary, PulseError.Summary>],
        call: NetworkEvent.CallSummary = .sample()
    ) throws -> [JSONValue] {
        let buffer = CallTracer.Buffer()
        let tracer = CallTracer(output: buffer, clock: clock)
        for result in results { tracer.emitCall(call, result) }
        return try spans(of: buffer)
    }

    private func spans(of buffer: CallTracer.Buffer) throws -> [JSONValue] {
        let value = try JSONDecoder().decode(
            JSONValue.self, from: OTLPTraces(resource: resource).json(of: buffer.takeAll()))
        let resource = Self.attributes(value["resourceSpans"]?[0]?["resource"]?["attributes"])
        #expect(resource["service.name"] == ["stringValue": "shop"])
        guard case .array(let spans)? = value["resourceSpans"]?[0]?["scopeSpans"]?[0]?["spans"] else { return [] }
        return spans
    }

    @Test func aCallIsASpanWithItsAttemptsAsChildren() throws {
        let (trace, parent, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7")
        let spans = try spans([.ok()], call: .sample(traceID: trace, parentSpanID: parent, spanID: span))
        #expect(spans.count == 2)
        #expect(spans.allSatisfy { $0["traceId"]?.stringValue == trace && $0["name"] == "GET GetUser" })
        #expect(spans[0]["kind"] == 1 && spans[0]["parentSpanId"]?.stringValue == parent)
        #expect(spans[1]["kind"] == 3 && spans[1]["spanId"]?.stringValue == span)
        #expect(spans[1]["parentSpanId"] == spans[0]["spanId"])
        #expect(spans[0]["startTimeUnixNano"] == "1767225600000000000" && spans[0]["status"] == nil)
        let attributes = Self.attributes(spans[1]["attributes"])
        #expect(attributes["http.response.status_code"] == ["intValue": "200"])
        #expect(attributes["server.address"] == ["stringValue": "api.example.com"])
        #expect(attributes["http.request.method"] == ["stringValue": "GET"])
    }

    @Test func theSpanOfAFailureHasAStatusAndATypeAndNoSecret() throws {
        let spans = try spans([.error(.http, status: 503, "HTTP status 503 token=hunter2")])
        #expect(spans[0]["status"]?["code"] == 2)
        let attributes = Self.attributes(spans[0]["attributes"])
        #expect(attributes["error.type"] == ["stringValue": "http"])
        #expect(attributes["http.response.status_code"] == ["intValue": "503"])
        #expect(!"\(spans)".contains("hunter2") && "\(spans)".contains("REDACTED"))
    }

    /// After a 303, a POST is redirected as a GET.
    @Test func theSpanOfAnAttemptHasItsOwnMethod() throws {
        let call = NetworkEvent.CallSummary.sample(method: .post)
        let buffer = CallTracer.Buffer()
        let tracer = CallTracer(output: buffer, clock: clock)
        tracer.emit(.requestStarted(call))
        tracer.emit(.attemptStarted(call))
        tracer.emit(.responseReceived(call, status: 303, byteCount: 0))
        tracer.emit(.attemptStarted(.sample(host: "b.example", id: call.id)))
        tracer.emit(.requestCompleted(.ok(), call, latency: 1))
        let spans = try spans(of: buffer)
        #expect(spans.map { $0["name"] } == ["POST GetUser", "POST GetUser", "GET GetUser"])
        #expect(
            spans.map { Self.attributes($0["attributes"])["http.request.method"]?["stringValue"] }
                == ["POST", "POST", "GET"])
    }

    /// OpenTelemetry's conventions for HTTP: an unknown method would make a series of each spelling.
    @Test func aMethodOfOnesOwnIsOther() throws {
        let method = try #require(HTTPMethod(rawValue: "PURGE"))
        let spans = try spans([.ok()], call: .sample(method: method))
        #expect(spans[0]["name"] == "HTTP GetUser")
        let attributes = Self.attributes(spans[0]["attributes"])
        #expect(attributes["http.request.method"] == ["stringValue": "_OTHER"])
        #expect(attributes["http.request.method_original"] == ["stringValue": "PURGE"])
        #expect(Self.attributes(try self.spans([.ok()])[0]["attributes"])["http.request.method_original"] == nil)
    }

    @Test func noSpanContainsThePath() throws {
        #expect(!"\(try spans([.ok()]))".contains("/users/42"))
    }

    @Test(arguments: [Date.distantPast, .distantFuture, Date(timeIntervalSince1970: 1e300)])
    func anyWallClockCanBeExported(now: Date) async throws {
        let clock = TestClock(now: now)
        let collector = PulseMetricsCollector(clock: clock)
        let bus = PulseEventBus()
        collector.attach(to: bus)
        bus.emitCall(.sample(), latency: .infinity)
        clock.shiftWallClock(by: -1000)
        let snapshot = await collector.snapshot()
        #expect(snapshot.countingSince <= snapshot.takenAt)
        let json = try OTLPMetrics(resource: resource).json(of: snapshot)
        #expect(!json.isEmpty)
        let buffer = CallTracer.Buffer()
        CallTracer(output: buffer, clock: clock).emitCall(.sample())
        #expect(try !OTLPTraces(resource: resource).json(of: buffer.takeAll()).isEmpty)
    }

    @Test func anEmptyExportIsValid() async throws {
        #expect(try spans([]).isEmpty)
        #expect(try await metrics { _ in }.isEmpty)
    }

    @Test func anUploadIsAPostOfJSONToItsPath() async throws {
        let snapshot = await PulseMetricsCollector(clock: clock).snapshot()
        let metrics = try OTLPUpload.metrics(snapshot, from: resource, buckets: [0.1, 1])
        #expect(metrics.path == "/v1/metrics" && metrics.method == .post)
        #expect(try metrics.json == OTLPMetrics(resource: resource, buckets: [0.1, 1]).json(of: snapshot))
        let buffer = CallTracer.Buffer()
        CallTracer(output: buffer, clock: clock).emitCall(.sample())
        let ended = buffer.takeAll()
        let traces = try OTLPUpload.traces(ended, from: resource)
        #expect(traces.path == "/v1/traces" && traces.method == .post)
        #expect(try traces.json == OTLPTraces(resource: resource).json(of: ended))
    }
}
