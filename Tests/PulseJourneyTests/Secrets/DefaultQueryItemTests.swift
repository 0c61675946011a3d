// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

/// The values of default query items are sent home, and shown nowhere, whatever the names of the items are.
@Suite(.throttled)
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
            let bus = PulseEventBus(sink: collector)
            recorder.attach(to: bus)
            let exports = ExportedTexts(of: bus, collector.add)
            let client = ClientStage.client(
                of: server,
                plugins: [
                    .logger(options: .init(verbosity: .verbose, includesCurl: true, output: collector.add)), recorder,
                    .tracing(),
                ], events: bus, with: { $0.defaultQueryItems = Self.items })
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

    private static func client(_ transport: MockTransport) -> PulseClient {
        ClientStage.client(
            .root.with(\.defaultQueryItems, value: [URLQueryItem(name: "key", value: PlantedSecret.queryItem.value)]),
            over: transport)
    }

    /// `key` is no secret name elsewhere: only the configuration tells. An error that knows no configuration shows no
    /// query.
    private static func expectNoValue(in error: PulseError?, path: String, showsName: Bool = true) {
        let text = error.map { "\($0)" } ?? ""
        #expect(text.contains("https://api.example.com\(path)"), "\(text)")
        #expect(text.contains("?key=\(Redaction.mask)") == showsName, "\(text)")
        for forbidden in PlantedSecret.forbiddenTexts { #expect(!text.contains(forbidden), "\(text)") }
    }

    @Test(arguments: [
        ("/missing", PulseError.Kind.http), ("/login", .unauthorized), ("/mistyped", .decodingFailed),
        ("/slow", .timeout), ("/lost", .transport), ("/unknown", .transport),
    ])
    func noErrorShowsTheirValues(path: String, kind: PulseError.Kind) async throws {
        let client = Self.client(
            MockTransport { request in
                switch path {
                case "/missing": return PulseResponse(statusCode: 404, request: request)
                case "/login": return PulseResponse(statusCode: 401, request: request)
                case "/slow": throw TransportFailure(code: .timedOut, phase: .maybeSent)
                case "/lost": throw TransportFailure(code: .networkConnectionLost, phase: .maybeSent)
                case "/unknown": throw URLError(.cannotFindHost)
                default: return PulseResponse(statusCode: 200, data: Data("{}".utf8), request: request)
                }
            })
        let error = await #expect(throws: PulseError.self) { try await client.get(path, as: Int.self) }
        #expect(error?.kind == kind)
        Self.expectNoValue(in: error, path: path, showsName: path != "/slow" && path != "/unknown")
        await client.shutdown()
    }

    @Test func noErrorOfAStreamShowsTheirValues() async throws {
        let lost = TransportFailure(code: .networkConnectionLost, phase: .responseStarted)
        let client = Self.client(
            MockTransport(stubs: [Stub().reply(.chunks([Data("data: a\n\n".utf8)], failure: lost))]))
        let lines = await #expect(throws: PulseError.self) { for try await _ in client.lines("/lines") {} }
        Self.expectNoValue(in: lines, path: "/lines")
        let values = client.jsonLines("/values", of: Int.self)
        let mistyped = await #expect(throws: PulseError.self) { for try await _ in values {} }
        #expect(mistyped?.kind == .decodingFailed)
        Self.expectNoValue(in: mistyped, path: "/values")
        await client.shutdown()
    }

    @Test func noErrorEventShowsTheirValues() async throws {
        let client = Self.client(
            MockTransport(stubs: [Stub().reply(.events([ServerSentEvent(type: "error", data: "{}")]))]))
        let values = client.serverSentEvents("/events").decoded(as: [String: Int].self)
        let error = await #expect(throws: PulseError.self) { for try await _ in values {} }
        #expect(error?.kind == .custom)
        Self.expectNoValue(in: error, path: "/events")
        await client.shutdown()
    }

    private struct Feed: SocketEndpoint {
        let path = "/feed"
        let socketOptions = SocketOptions(reconnect: .never)
    }

    @Test func noErrorOfASocketShowsTheirValues() async throws {
        let client = Self.client(
            MockTransport(stubs: []) { socket in
                _ = try await socket.receive()
                try await socket.run(.reset)
            })
        let socket = PulseSocket(endpoint: Feed(), client: client)
        try await socket.connect()
        try? await socket.send(.text("end"))
        for await _ in socket.states {}
        let error = await #expect(throws: PulseError.self) { _ = try await socket.receive() }
        Self.expectNoValue(in: error, path: "/feed")
        await client.shutdown()
    }

    @Test func noErrorOfATransferShowsTheirValues() async throws {
        let client = Self.client(MockTransport { _ in throw TransportFailure(code: .badURL, phase: .maybeSent) })
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString).mov")
        let error = await #expect(throws: PulseError.self) { try await client.download("/films/1", to: file) }
        Self.expectNoValue(in: error, path: "/films/1")
        #expect(error.map { "\($0)".contains(file.lastPathComponent) } == true)
        await client.shutdown()
    }

    @Test func aCassetteHoldsNoValueAndFitsAnotherOne() async throws {
        let recorder = CassetteRecorder(
            around: MockTransport { PulseResponse(statusCode: 200, data: Data("neighbor".utf8), request: $0) })
        let recorded = ClientStage.client(
            .root.with(\.defaultQueryItems, value: Self.items), retry: .default, over: recorder)
        _ = try await recorded.get("/a", as: String.self)
        await recorded.shutdown()
        let text = String(decoding: recorder.cassette.har, as: UTF8.self)
        #expect(text.contains("appid=\(Redaction.mask)"))
        for forbidden in PlantedSecret.forbiddenTexts { #expect(!text.contains(forbidden), "\(forbidden)") }
        let others = [URLQueryItem(name: "appid", value: "another")]
        let played = ClientStage.client(
            .root.with(\.defaultQueryItems, value: others), retry: .default,
            over: CassettePlayer(recorder.cassette))
        #expect(try await played.get("/a", as: String.self) == "neighbor")
        await played.shutdown()
    }
}
