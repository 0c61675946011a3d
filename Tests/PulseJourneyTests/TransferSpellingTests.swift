// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

/// The calls by path whose bodies are streams or files, with only the public API: the values of a literal are encoded,
/// and a `String` variable is a ready path.
@Suite(.throttled)
struct TransferSpellingTests {
    private struct User: Codable, Sendable, Equatable {
        var id = 1
    }

    private let once = EventStream.Options().with(\.reconnect, value: .never)
    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
    private let mock = MockTransport { request in
        let isFeed = request.value(forHTTPHeaderField: "Accept") == "text/event-stream"
        return PulseResponse(
            statusCode: request.url?.lastPathComponent == "old" ? 403 : 200,
            headers: isFeed ? ["Content-Type": "text/event-stream"] : [:],
            data: Data((isFeed ? "data: a\n\n" : #"{"id":1}"#).utf8), request: request)
    }

    private var paths: [String] {
        mock.requests.map { String($0.url?.absoluteString.dropFirst(23) ?? "") }.filter { $0 != "/v1/old" }
    }

    private func run(_ body: (PulseClient, _ source: URL, _ target: () -> URL) async throws -> Void) async throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let source = directory.appendingPathComponent("source")
        try Data("a".utf8).write(to: source)
        let client = PulseClient(baseURL: "https://api.example.com/v1", transport: mock, events: PulseEventBus())
        try await body(client, source) { directory.appendingPathComponent(UUID().uuidString) }
        await client.shutdown()
    }

    @Test func theValuesOfALiteralAreEncoded() async throws {
        try await run { client, source, target in
            let raw = "a/b?c"
            let user: DecodedResponse<User> = try await client.response(for: .get, "/x/\(raw)")
            #expect(user.value == User())
            var events = client.serverSentEvents("/x/\(raw)", stream: once).makeAsyncIterator()
            let event = try await events.next()
            #expect(event?.data == "a")
            try await client.download("/x/\(raw)", to: target())
            try await client.download("/x/\(raw)", into: directory)
            for try await _ in client.downloading("/x/\(raw)", to: target()) {}
            try await client.upload(source, to: "/x/\(raw)")
            let uploaded: User = try await client.upload(source, to: "/x/\(raw)")
            #expect(uploaded == User())
            for try await _ in client.uploading(source, to: "/x/\(raw)") {}
            let downloads = Downloads(directory: target(), client: client)
            _ = try await downloads.add("/x/\(raw)", to: target()).file()
            _ = try await downloads.add("/x/\(raw)", into: directory).file()
            let refused = try await downloads.add("/old", to: target())
            await #expect(throws: PulseError.self) { try await refused.file() }
            try await refused.resume(with: "/x/\(raw)")
            _ = try await refused.file()
            await downloads.shutdown()
        }
        #expect(paths == Array(repeating: "/v1/x/a%2Fb%3Fc", count: 11))
    }

    @Test func aStringIsAReadyPath() async throws {
        try await run { client, source, target in
            let ready = "/x/a/b?c"
            let user: DecodedResponse<User> = try await client.response(for: .get, ready)
            #expect(user.value == User())
            var events = client.serverSentEvents(ready, stream: once).makeAsyncIterator()
            let event = try await events.next()
            #expect(event?.data == "a")
            for try await bytes in try await client.bytes(ready).bytes { #expect(!bytes.isEmpty) }
            for try await value in client.jsonLines(ready, of: User.self) { #expect(value == User()) }
            try await client.download(ready, to: target())
            try await client.download(ready, into: directory)
            for try await _ in client.downloading(ready, to: target()) {}
            try await client.upload(source, to: ready)
            let uploaded: User = try await client.upload(source, to: ready)
            #expect(uploaded == User())
            for try await _ in client.uploading(source, to: ready) {}
            let downloads = Downloads(directory: target(), client: client)
            _ = try await downloads.add(ready, to: target()).file()
            _ = try await downloads.add(ready, into: directory).file()
            let refused = try await downloads.add("/old", to: target())
            await #expect(throws: PulseError.self) { try await refused.file() }
            try await refused.resume(with: ready)
            _ = try await refused.file()
            await downloads.shutdown()
        }
        #expect(paths == Array(repeating: "/v1/x/a/b?c", count: 13))
    }
}
