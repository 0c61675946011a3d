// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

private struct Note: GraphQLOperation {
    struct Value: Decodable, Sendable { let saved: Bool }
    struct Variables: Encodable, Sendable {
        let text: String
        let files: [JSONValue]
    }

    static let document = "mutation SaveNote($text: String, $files: [Upload!]) { saved }"
    let variables: Variables
    var uploads: [GraphQLUpload] = []
}

private struct Notes: GraphQLOperation {
    struct Value: Decodable, Sendable { let saved: Bool }
    struct Variables: Encodable, Sendable { let text = "ä & +" }
    static let document = "query Notes($text: String) { saved }"
    let variables = Variables()
}

private struct Followed: GraphQLOperation {
    struct Value: Decodable, Sendable { let saved: Bool }
    static let document = "subscription Followed { saved }"
    typealias Variables = NoVariables
}

/// Operations that wait in the offline queue, and connections that die.
@Suite(.throttled, .tags(.threads))
struct GraphQLOfflineTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("graphql-\(UUID())")

    private func client(
        _ server: MockServer, isOffline: Bool = false, settings: GraphQLSettings = GraphQLSettings(),
        plugins: [any PulsePlugin] = []
    ) -> PulseClient {
        ClientStage.client(
            of: server, plugins: plugins, retry: .immediate(),
            over: isOffline ? MockTransport { _ in throw PulseError.noConnection } : nil,
            with: { ($0.graphQL, $0.offlineQueuePolicy) = (settings, OfflineQueuePolicy(directory: folder)) })
    }

    private func served(_ body: (MockServer, _ received: Locked<[ReceivedOperation]>) async throws -> Void) async throws
    {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let received = Locked<[ReceivedOperation]>([])
        try await MockServer.run { server in
            server.onGraphQL("/graphql") { operation in
                received.withLock { $0.append(operation) }
                return .data(["saved": true])
            }
            try await body(server, received)
        }
    }

    @Test(arguments: [false, true], [GraphQLSettings.PersistedQueries.off, .automatic, .automaticWithGET])
    func anOperationSurvivesARestart(usesGET: Bool, persisted: GraphQLSettings.PersistedQueries) async throws {
        let settings = GraphQLSettings().with(\.queriesUseGET, value: usesGET)
            .with(\.persistedQueries, value: persisted)
        try await served { server, received in
            let offline = client(server, isOffline: true, settings: settings)
            let file = folder.appendingPathComponent("a.bin")
            try Data("file".utf8).write(to: file)
            let note = Note(variables: .init(text: "a \"b\"", files: []))
            let uploads = [
                GraphQLUpload("files.0", data: Data("data".utf8), filename: "d.txt"),
                GraphQLUpload("files.1", file: file, mimeType: "image/x"),
            ]
            let files = Note(variables: .init(text: "files", files: [.null, .null]), uploads: uploads)
            let ids = [
                try await offline.enqueue(note), try await offline.enqueue(Notes()), try await offline.enqueue(files),
            ]
            await offline.shutdown()
            try FileManager.default.removeItem(at: file)
            #expect(server.requests.isEmpty)

            let online = client(server, settings: settings)
            for id in ids {
                let queue = try #require(online.offlineQueue)
                #expect(try await queue.result(of: id).decode(JSONValue.self) == ["data": ["saved": true]])
            }
            let replayed = received.withLock { $0 }
            #expect(replayed.map(\.name) == ["SaveNote", "Notes", "SaveNote"])
            #expect(replayed.map(\.document) == [Note.document, Notes.document, Note.document])
            #expect(replayed[2].uploads.map(\.data) == [Data("data".utf8), Data("file".utf8)])
            #expect(replayed[2].uploads.map(\.filename) == ["d.txt", "a.bin"])
            #expect(replayed[2].uploads.map(\.mimeType) == ["text/plain", "image/x"])

            // The same request as a call that is sent at once, which may have a hash beside its document.
            let key = RequestOptions().with(\.idempotencyKey, value: .automatic)
            _ = try await online.graphQL(note, options: key)
            _ = try await online.graphQL(Notes(), options: key)
            let live = received.withLock { $0.suffix(2).map(\.request) }
            for (queued, sent) in zip(replayed.map(\.request), live) {
                #expect(queued.method == sent.method && queued.target == sent.target)
                #expect(queued.headers["Content-Type"] == sent.headers["Content-Type"])
                #expect(queued.headers["Accept"] == sent.headers["Accept"])
                #expect(queued.headers["Apollo-Require-Preflight"] == sent.headers["Apollo-Require-Preflight"])
                #expect(queued.headers["Idempotency-Key"] != nil)
                guard queued.method == .post else { continue }
                var members = try sent.json(JSONValue.self).objectValue
                let hash = members?.removeValue(forKey: "extensions")
                #expect((hash == nil) == (persisted == .off))
                let waited = try queued.json(JSONValue.self)
                #expect(waited.objectValue == members)
            }
            await online.shutdown()
        }
    }

    @Test func anOperationThatCannotWaitIsATypedError() async throws {
        try await served { server, _ in
            let offline = client(server, isOffline: true)
            let missing = GraphQLUpload("files.0", file: folder.appendingPathComponent("none"))
            let unread = Note(variables: .init(text: "", files: [.null]), uploads: [missing])
            let error = await #expect(throws: PulseError.self) { try await offline.enqueue(unread) }
            #expect(error?.kind == .encodingFailed)
            let misplaced = Note(
                variables: .init(text: "", files: []),
                uploads: [GraphQLUpload("files.0", data: Data(), filename: "a")])
            let place = await #expect(throws: PulseError.self) { try await offline.enqueue(misplaced) }
            #expect(place?.kind == .invalidRequest)
            let followed = await #expect(throws: PulseError.self) { try await offline.enqueue(Followed()) }
            #expect(followed?.kind == .invalidRequest)
            let pending = try await offline.offlineQueue?.pending()
            #expect(pending?.isEmpty == true)
            await offline.shutdown()
        }
    }

    // MARK: Lost connections

    @Test(arguments: [false, true], [true, false])
    func aMutationIsSeenOnceWhenItsConnectionDies(isReset: Bool, hasPlugin: Bool) async throws {
        try await served { server, _ in
            let lost = MockServer.Response.data(
                Data(#"{"data":{"saved":true}}"#.utf8), contentType: "application/graphql-response+json")
            let first = isReset ? MockServer.Response.raw([.reset]) : lost.truncated(after: 9)
            server.on(.post, "/graphql", script: [first, lost])
            let plugins: [any PulsePlugin] =
                hasPlugin ? [.retry(policy: RetryPolicy.immediate())] : []
            let client = client(server, plugins: plugins)
            let note = Note(variables: .init(text: "a", files: []))
            let error = await #expect(throws: PulseError.self) { try await client.graphQL(note) }
            #expect(error?.kind == .transport)
            #expect(server.requests.count == 1)

            // A query may be sent again, and so may a mutation with a key.
            server.on(.post, "/graphql", script: [first, lost])
            let query = try await client.graphQL(Notes())
            #expect(query.saved)
            #expect(server.requests.count == 3)
            server.on(.post, "/graphql", script: [first, lost])
            let keyed = try await client.graphQL(note, options: .init().with(\.idempotencyKey, value: "k"))
            #expect(keyed.saved)
            #expect(server.requests.count == 5)
            #expect(server.requests[3].text == server.requests[4].text)
            await client.shutdown()
        }
    }
}
