// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import PulseUI
import SwiftUI
import TestSupport
import Testing

/// The network console on a screen: what a user taps, types and sees.
@Suite(.throttled, .serialized)
@MainActor
struct ConsoleScreenTests {
    private struct PostOrder: Endpoint {
        typealias Response = EmptyResponse
        let path = "/orders"
        let method = HTTPMethod.post
        let headers = ["X-Trace": "7"]
        let body = RequestBody.json(["title": "Lamp"])
    }

    private let recorder = PulseRecorder()

    private func withCalls(_ body: (ViewHost, PulseClient) async throws -> Void) async throws {
        let client = PulseClient(
            configuration: .test("https://api.example.com"), plugins: [.recorder(recorder)],
            transport: MockTransport(stubs: [
                Stub(.get, "/users").reply(.text("Ada")), Stub(.post, "/orders").reply(.status(500)), Stub(),
            ]), events: PulseEventBus())
        _ = await client.result(of: Request<String>(.get, "/users"))
        _ = await client.result(of: PostOrder())
        let host = ViewHost { NavigationView { PulseDebugView(recorder: recorder) } }
        try await body(host, client)
        #expect(host.faults == [])
        host.remove()
        await client.shutdown()
    }

    @Test func theListShowsTheCallsAndTheirOutcomes() async throws {
        try await withCalls { host, client in
            #expect(host.lines[0] == "# Network calls")
            let rows = host.lines.filter { $0.hasSuffix(" ›") }
            #expect(rows == ["Filter ›", "Export ›", "POST /orders ›", "GET /users ›"])
            #expect(host.text.contains("500"))
            _ = await client.result(of: Request<EmptyResponse>(.get, "/late"))
            await host.shows("GET /late")
        }
    }

    @Test func searchAndFilterSelectCalls() async throws {
        try await withCalls { host, _ in
            host.search("orders")
            await host.lines { !$0.contains("GET /users ›") }
            #expect(host.lines.contains("POST /orders ›"))
            host.open("Filter")
            #expect(host.lines.contains("Text: orders"))
            host.tap("Reset")
            host.pick("GET", in: "Method")
            #expect(host.lines.contains("Method: GET"))
            #expect(host.lines.contains("Text: "))
            host.back()
            await host.lines { !$0.contains("POST /orders ›") }
            #expect(host.lines.contains("GET /users ›"))
            host.open("Filter")
            host.pick("All", in: "Method")
            host.pick("failed", in: "Outcome")
            host.back()
            await host.lines { $0.contains("POST /orders ›") && !$0.contains("GET /users ›") }
        }
    }

    @Test func aCallShowsItsDetailsRequestAndBody() async throws {
        try await withCalls { host, _ in
            host.open("POST /orders")
            #expect(host.lines[0] == "# Call")
            #expect(host.lines.contains("Waterfall") && host.lines.contains("Requests"))
            #expect(host.lines.contains("▬"))
            let request = try #require(host.lines.first { $0.hasSuffix(" ›") })
            host.open(String(request.dropLast(2)))
            #expect(host.lines[0] == "# Request")
            #expect(host.lines.contains("X-Trace") && host.lines.contains("7"))
            Pasteboard.text = nil
            host.tap("Copy as cURL")
            #expect(Pasteboard.text?.hasPrefix("curl") == true)
            host.open("Request body")
            #expect(host.lines[0] == "# Request body")
            #expect(host.text.contains("Lamp"))
            host.back()
            host.back()
            host.back()
            #expect(host.lines[0] == "# Network calls")
        }
    }

    @Test func aPausedConsoleShowsNothingNewAndAClearedOneIsEmpty() async throws {
        try await withCalls { host, client in
            host.toggle("Paused")
            #expect(host.lines.contains("☑ Paused"))
            _ = await client.result(of: Request<EmptyResponse>(.get, "/hidden"))
            host.toggle("Paused")
            await host.shows("GET /hidden")
            host.tap("Clear")
            #expect(!host.lines.contains { $0.hasPrefix("GET") || $0.hasPrefix("POST") })
            #expect(recorder.recording().calls.isEmpty)
        }
    }

    @Test func anExportOpensTheShareSheetWithItsFile() async throws {
        try await withCalls { host, _ in
            host.search("orders")
            await host.lines { !$0.contains("GET /users ›") }
            host.open("Export")
            host.toggle("Only the calls that are shown")
            let format = try #require(ConsoleExport.Format.allCases.first { $0.title.contains("HAR") })
            host.tap(format.title)
            await host.shows("share")
            let start = try #require(host.text.range(of: "file://")?.lowerBound)
            let file = try #require(URL(string: String(host.text[start...].prefix { $0 != "]" })))
            #expect(file.pathExtension == "har")
            let har = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            #expect(har.contains("/orders") && !har.contains("/users"))
            try FileManager.default.removeItem(at: file.deletingLastPathComponent())
            host.back()
            #expect(host.lines[0] == "# Export")
        }
    }

    @Test func theSettingsScreenOpensTheConsole() async {
        let host = ViewHost { SettingsView() }
        host.tap("Network calls")
        #expect(host.lines[0] == "# Network calls")
        host.back()
        #expect(host.lines == ["[Network calls]"])
        #expect(host.faults == [])
        host.remove()
    }
}
