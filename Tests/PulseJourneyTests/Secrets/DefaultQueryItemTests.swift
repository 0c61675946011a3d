// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

/// The values of default query items are sent home, and shown nowhere, whatever the names of the items are.
@Suite(.throttled, .timeLimit(.minutes(15)))
struct DefaultQueryItemTests {
    private static let items = [URLQueryItem(name: "appid", value: PlantedSecret.queryItem.value)]

    @Test func noLogRecordingOrExportShowsTheirValues() async throws {
        let collector = TextCollector()
        let recorder = PulseRecorder()
        try await MockServer.run { server in
            let away = try await MockServer.start()
            away.fallback { _ in .text("neighbor") }
            let location = away.baseURL.absoluteString + "/away"
            server.fallback { request in
                switch request.path {
                case "/error": .text("neighbor", status: 500)
                case "/redirected":
                    .data(Data(), contentType: "text/plain", status: 307, headers: ["Location": location])
                case "/reset": .raw([.reset])
                default: .text("neighbor")
                }
            }
            let bus = PulseEventBus()
            bus.addSink(collector)
            recorder.attach(to: bus)
            let exports = ExportedTexts(of: bus, collector.add)
            let client = PulseClient(
                configuration: PulseConfiguration.patient(with: server)
                    .with(\.defaultQueryItems, value: Self.items)
                    .with(\.retryPolicy, value: .never),
                plugins: [
                    .logger(options: .init(verbosity: .verbose, includesCurl: true, output: collector.add)), recorder,
                    .tracing(),
                ], events: bus)
            collector.add(all: client)
            let paths = ["/success", "/error", "/redirected", "/reset"]
            for path in paths { _ = try? await client.get(path, as: String.self) }
            await client.shutdown()
            try await exports.finish()
            try await server.requests(atLeast: paths.count)
            #expect(server.requests.count == paths.count)
            for request in server.requests { #expect(PlantedSecret.queryItem.isIn(request.target)) }
            #expect(away.requests.map(\.target) == ["/away"])
            await away.shutdown()
        }
        #expect(recorder.recording().calls.count == 4)
        collector.add(recording: recorder.recording())
        let all = collector.texts.joined(separator: "\n")
        #expect(all.contains("appid=\(Redaction.mask)") && all.contains("neighbor") && all.contains("curl "))
        for forbidden in PlantedSecret.forbiddenTexts where all.contains(forbidden) {
            let leak = collector.texts.first { $0.contains(forbidden) } ?? ""
            Issue.record("\(forbidden) leaks in: \(leak.prefix(4000))")
        }
    }

    @Test func aCassetteHoldsNoValueAndFitsAnotherOne() async throws {
        let configuration = PulseConfiguration(baseURL: "https://api.example.com")
        let recorder = CassetteRecorder(
            around: MockTransport { PulseResponse(statusCode: 200, data: Data("neighbor".utf8), request: $0) })
        let recorded = PulseClient(
            configuration: configuration.with(\.defaultQueryItems, value: Self.items), transport: recorder)
        _ = try await recorded.get("/a", as: String.self)
        await recorded.shutdown()
        let text = String(decoding: recorder.cassette.har, as: UTF8.self)
        #expect(text.contains("appid=\(Redaction.mask)"))
        for forbidden in PlantedSecret.forbiddenTexts { #expect(!text.contains(forbidden), "\(forbidden)") }
        let others = [URLQueryItem(name: "appid", value: "another")]
        let played = PulseClient(
            configuration: configuration.with(\.defaultQueryItems, value: others),
            transport: CassettePlayer(recorder.cassette))
        #expect(try await played.get("/a", as: String.self) == "neighbor")
        await played.shutdown()
    }
}
