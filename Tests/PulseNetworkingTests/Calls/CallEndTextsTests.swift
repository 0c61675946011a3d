// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// What errors, events and the log say about a call whose error type has no field for the request or the reason.
@Suite(.throttled)
struct CallEndTextsTests {
    enum Ending: CaseIterable {
        case task, all, tag, shutdown, afterShutdown, deadline, cache
    }

    private struct Texts {
        var error: PulseError?
        var summary = ""
        var line = ""
        var call = ""
    }

    private func texts(of ending: Ending) async throws -> Texts {
        let clock = TestClock()
        let sink = RecordingSink()
        let client = ClientStage.client(clock: clock, events: PulseEventBus(sink: sink)) { request in
            try await clock.sleep(3600)
            return PulseResponse(statusCode: 200, request: request)
        }
        var options = RequestOptions().with(\.tag, value: "feed")
        if ending == .deadline { options.deadline = 5 }
        if ending == .cache { options.cache = .onlyIfCached }
        if ending == .afterShutdown { await client.shutdown() }
        let call = Task { [options] in await client.result(of: GetUser(path: "/users/7?page=1"), options: options) }
        if ![.cache, .afterShutdown].contains(ending) { await clock.sleepers(atLeast: 1) }
        switch ending {
        case .task: call.cancel()
        case .all: client.cancelAll()
        case .tag: client.cancelAll(tag: "feed")
        case .shutdown: await client.shutdown()
        case .deadline:
            await clock.sleepers(atLeast: 1, for: .deadline)
            await clock.advance(by: 5)
        case .afterShutdown, .cache: break
        }
        var texts = Texts()
        if case .failure(let error) = await call.value { texts.error = error }
        for event in sink.events {
            guard case .requestCompleted(.failure(let summary), let call, _) = event else { continue }
            texts.summary = summary.message
            texts.call = "\(call.method) \(call.host) \(call.endpointPath)"
            texts.line = EventText.line(for: event)?.1 ?? ""
        }
        await client.shutdown()
        return texts
    }

    @Test func theErrorOfAnUnencodableBodyNamesItsCall() async {
        let client = ClientStage.client()
        let endpoint = GetUser(path: "/orders?token=hunter2", method: .post, body: .json(["weight": Double.nan]))
        let error = await #expect(throws: PulseError.self) { try await client.rawRequest(endpoint) }
        #expect(
            error?.description
                == "the body could not be encoded: a Double at $.* is not a valid value, POST /orders")
        #expect(error.map { PulseError.Summary($0).message.contains("orders") } == false)
        await client.shutdown()
    }

    @Test func theErrorOfAFileNamesItsPath() async throws {
        let stage = ClientStage()
        let missing = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        let film = missing.appendingPathComponent("film.mov")
        let upload = await #expect(throws: PulseError.self) {
            try await stage.client.rawRequest(GetUser(method: .put, body: .file(film)))
        }
        #expect(upload?.kind == .encodingFailed)
        let download = await #expect(throws: PulseError.self) {
            try await stage.client.download(GetUser(path: "/films/1?token=hunter2"), to: film)
        }
        #expect(download?.kind == .transport)
        for text in [upload?.description ?? "", download?.description ?? ""] {
            #expect(text.contains(missing.lastPathComponent + "/film.mov"), "\(text)")
            #expect(!text.contains("Domain") && !text.contains("hunter2"), "\(text)")
        }
        #expect(download?.description.contains("GET https://api.example.com/v1/films/1") == true)
        #expect(stage.requests.isEmpty)
        await stage.client.shutdown()
    }

    @Test(arguments: Ending.allCases)
    func theEventAndTheLogNameTheRequestAndTheReason(ending: Ending) async throws {
        let texts = try await texts(of: ending)
        #expect(texts.call == "GET api.example.com /users/7")
        let reason =
            switch ending {
            case .task: "cancelled: by the calling task, or by a plugin"
            case .all: "cancelled: by cancelAll() of the client"
            case .tag: #"cancelled: by cancelAll(tag: "feed")"#
            case .shutdown, .afterShutdown: "cancelled: the client was shut down"
            case .deadline: "deadline exceeded, 5.0 s, with 1 sent"
            case .cache: "not in the cache, and the call asks for nothing else (onlyIfCached)"
            }
        #expect(texts.summary == reason)
        #expect(texts.line.hasPrefix("GET api.example.com/users/7 failed in "))
        #expect(texts.line.hasSuffix(reason))
        let kind: PulseError.Kind =
            switch ending {
            case .deadline: .deadlineExceeded
            case .cache: .cacheMiss
            default: .cancelled
            }
        #expect(texts.error?.kind == kind)
    }

    @Test func anErrorWithARequestNamesItsMethodAndPath() async throws {
        let client = ClientStage.client()
        func text(_ endpoint: GetUser) async -> String? {
            await #expect(throws: PulseError.self) { try await client.request(endpoint) }?.description
        }
        #expect(await text(GetUser(path: "/a#b?token=hunter2"))?.hasSuffix(" (GET /a)") == true)
        #expect(await text(GetUser(path: "/a", method: .post, headers: ["X": "a\nb"]))?.hasSuffix(" (POST /a)") == true)
        #expect(
            await text(GetUser(path: "/a?page=1", options: .init().with(\.timeout, value: -1)))?
                .hasSuffix(" (GET /a)") == true)
        await client.shutdown()
    }

    @Test func theErrorForAnHTMLPageInsteadOfJSONSaysSo() async throws {
        let client = ClientStage.client(
            over: .responding(headers: ["Content-Type": "text/html"], data: Data("<html>hunter2</html>".utf8)))
        let error = await #expect(throws: PulseError.self) { try await client.request(GetUser()) }
        #expect(
            error?.description
                == "the body does not decode as User: it is not JSON, it begins like HTML or XML (status 200, text/html read as "
                + "application/json, 20 bytes, GET https://api.example.com/v1/users/1)")
    }
}
