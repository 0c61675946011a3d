// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct BaseURLTests {
    private func client(_ base: String, _ events: PulseEventBus) throws -> PulseClient {
        let url = try #require(URL(string: base))
        return PulseClient(
            baseURL: url, transport: MockTransport { PulseResponse(statusCode: 200, data: User.json, request: $0) },
            events: events)
    }

    @Test(arguments: [
        ("localhost:8932", "localhost:8932"), ("api.example.com/v1", "api.example.com/v1"),
        ("ftp://h.example", "ftp://h.example"), ("file:///a", "file:///a"), ("https:///a", "https:///a"),
        ("mailto:ada@example.com", "example.com"),
    ])
    func anUnusableBaseURLCausesAWarningAndFailsEachCall(base: String, shown: String) async throws {
        let sink = RecordingSink()
        let bus = PulseEventBus(sink: sink)
        let client = try client(base, bus)
        let warnings = sink.events.compactMap { if case .warning(let text) = $0 { text } else { nil } }
        #expect(warnings.map { $0.contains("the base URL") && $0.contains(shown) } == [true], "\(warnings)")
        for _ in 0..<2 {
            let error = await #expect(throws: PulseError.self) { try await client.get("/users/1", as: User.self) }
            #expect(error?.kind == .invalidURL)
            let text = error.map { "\($0)" } ?? ""
            #expect(text.contains("the base URL") && text.contains(shown), "\(text)")
        }
        // An absolute URL needs no base.
        _ = try await client.get("https://h.example/users/1", as: User.self)
    }

    @Test func aBaseURLMayBeAText() async throws {
        let mock = MockTransport { PulseResponse(statusCode: 200, data: User.json, request: $0) }
        let client = PulseClient(baseURL: "https://api.example.com/v1", transport: mock, events: PulseEventBus())
        _ = try await client.get("/users/1", as: User.self)
        #expect(mock.requests.map { $0.url?.absoluteString } == ["https://api.example.com/v1/users/1"])
        let url = try #require(URL(string: "https://api.example.com/v1"))
        #expect(PulseConfiguration(baseURL: "https://api.example.com/v1").baseURL == url)
        #expect(PulseConfiguration(baseURL: url).baseURL == url)
        let built = PulseClient.Builder().baseURL("https://api.example.com/v1").transport(mock).build()
        #expect(built.configuration.baseURL == url)
    }

    @Test(arguments: [
        ("", "the base URL is empty; it begins with http"), ("not a URL", "base URL"),
        ("api.example.com", "the base URL api.example.com: "), ("http://[bad", "the base URL is no URL; it begins"),
        ("https://ada:hunter2@[bad?key=hunter2", "base URL"),
    ])
    func aBaseURLThatIsNoneCausesAWarningAndFailsEachCall(text: String, reason: String) async {
        let (bus, sink, mock) = (PulseEventBus(), RecordingSink(), MockTransport(stubs: []))
        bus.addSink(sink)
        let client = PulseClient(baseURL: text, transport: mock, events: bus)
        let warnings = sink.events.compactMap { if case .warning(let text) = $0 { text } else { nil } }
        let error = await #expect(throws: PulseError.self) { try await client.get("/users/1", as: User.self) }
        #expect(error?.kind == .invalidURL && mock.requests.isEmpty)
        // Not "a relative path needs a base URL": a client without one would send secrets to any origin.
        let shown = warnings + [error.map { "\($0)" } ?? ""]
        #expect(shown.map { $0.contains(reason) } == [true, true], "\(shown)")
        #expect(!shown.joined().contains("hunter2") && !shown.joined().contains("pulse-"), "\(shown)")
    }

    @Test func theQueryItemsOfAClientAreSentHomeWithEveryCall() async throws {
        let mock = MockTransport { PulseResponse(statusCode: 200, data: User.json, request: $0) }
        let items = [URLQueryItem(name: "key", value: "a&b"), URLQueryItem(name: "v", value: "2")]
        let trusted = try #require(URL(string: "https://trusted.example"))
        let configuration = PulseConfiguration(baseURL: "https://api.example.com")
            .with(\.defaultQueryItems, value: items)
            .with(\.trustedOrigins, value: [trusted])
        let client = PulseClient(configuration: configuration, transport: mock, events: PulseEventBus())
        let paths = [
            "/a", "/b?x=1", "/c?v=3", "https://api.example.com/d", "https://trusted.example/e",
            "https://other.example/f",
        ]
        for path in paths { _ = try await client.get(path, as: User.self) }
        _ = try await client.get("/g", query: ["key": "own"], as: User.self)
        #expect(
            mock.requests.map { $0.url?.absoluteString } == [
                "https://api.example.com/a?key=a%26b&v=2", "https://api.example.com/b?x=1&key=a%26b&v=2",
                "https://api.example.com/c?v=3&key=a%26b", "https://api.example.com/d?key=a%26b&v=2",
                "https://trusted.example/e?key=a%26b&v=2", "https://other.example/f",
                "https://api.example.com/g?key=own&v=2",
            ])
        #expect(!"\(configuration)".contains("a&b"))
    }

    @Test func theDefaultHeadersAreThoseOfARequest() async throws {
        let mock = MockTransport { PulseResponse(statusCode: 200, data: User.json, request: $0) }
        let client = PulseClient(baseURL: "https://api.example.com", transport: mock, events: PulseEventBus())
        _ = try await client.get("/a", as: User.self)
        let sent = try #require(mock.requests.first)
        #expect(HTTPHeaders.default[.userAgent]?.isEmpty == false)
        for field in HTTPHeaders.default { #expect(sent.value(forHTTPHeaderField: field.name) == field.value) }
    }

    @Test func theErrorForABaseURLWithoutASchemeNamesWhatIsMissing() async throws {
        let client = try client("localhost:8932", PulseEventBus())
        let error = await #expect(throws: PulseError.self) { try await client.get("/users/1", as: User.self) }
        #expect(error.map { "\($0)" }?.contains("http://") == true)
    }

    @Test func noTextShowsTheCredentialsOfABaseURL() async throws {
        let sink = RecordingSink()
        let bus = PulseEventBus(sink: sink)
        for base in ["ftp://bob:hunter2@h.example", "bob:hunter2@localhost"] {
            let client = try client(base, bus)
            let error = await #expect(throws: PulseError.self) { try await client.get("/a", as: User.self) }
            #expect(!"\(String(describing: error)) \(sink.events)".contains("hunter2"))
        }
    }

    @Test func aUsableBaseURLCausesNoWarning() async throws {
        let sink = RecordingSink()
        let bus = PulseEventBus(sink: sink)
        for base in ["http://localhost:8932", "HTTPS://api.example.com/v1/"] { _ = try client(base, bus) }
        _ = PulseClient(configuration: PulseConfiguration(), events: bus)
        #expect(!sink.names.contains("warning"))
    }

    @Test func aClientMadeOfABaseURLAloneHasTheDefaultSettings() async throws {
        let sink = RecordingSink()
        let bus = PulseEventBus(sink: sink)
        let client = try client("https://api.example.com/v1", bus)
        #expect(client.configuration.timeout == 30 && client.configuration.retryPolicy.maxAttempts == 3)
        #expect(try await client.get("/users/1", as: User.self) == User())
    }
}
