// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

private struct Counted: Codable, Sendable, Equatable {
    var count: Int
}

private struct CountFiles: GraphQLOperation {
    typealias Value = Counted
    struct Variables: Encodable, Sendable {
        var title = "Files"
        var files: [JSONValue]
    }
    static let document = "mutation CountFiles($title: String, $files: [Upload!]!) { count }"
    var variables: Variables
    var uploads: [GraphQLUpload]
}

@Suite(.throttled)
struct GraphQLServerTests {
    private func client(
        of server: MockServer, _ settings: GraphQLSettings = GraphQLSettings()
    ) -> PulseClient {
        ClientStage.client(of: server, retry: .default, with: { $0.graphQL = settings })
    }

    private func served(_ settings: GraphQLSettings, _ body: (PulseClient, MockServer) async throws -> Void)
        async throws
    {
        let server = try await MockServer.start()
        server.onGraphQL("/graphql") { operation in
            operation.variables["fail"] == true
                ? .errors(GraphQLError(message: "no", path: ["a", 1]))
                : .data(
                    [
                        "name": .string("\(operation.kind) \(operation.name ?? "-")"),
                        "id": operation.variables["id"] ?? .null,
                    ] as JSONValue)
        }
        let client = client(of: server, settings)
        try await body(client, server)
        await client.shutdown()
        await server.shutdown()
    }

    @Test(arguments: [false, true], [GraphQLSettings.PersistedQueries.off, .automatic, .automaticWithGET])
    func operationsAreServedInEveryForm(usesGET: Bool, persisted: GraphQLSettings.PersistedQueries) async throws {
        let settings = GraphQLSettings().with(\.queriesUseGET, value: usesGET)
            .with(\.persistedQueries, value: persisted)
        try await served(settings) { client, server in
            for _ in 0..<2 {
                let query: JSONValue = try await client.graphQL(
                    query: "query Q($id: Int) { name id }", variables: ["id": 7])
                #expect(query == ["name": "query Q", "id": 7])
                let mutation: JSONValue = try await client.graphQL(query: "mutation { name }")
                #expect(mutation == ["name": "mutation -", "id": nil])
            }
            let methods = server.requests.map(\.method)
            #expect(methods.contains(.get) == (usesGET || persisted == .automaticWithGET))
            #expect(server.requests.count == (persisted == .off ? 4 : 6))
        }
    }

    @Test func errorsAndFaultsAreErrorsOfTheClient() async throws {
        try await served(GraphQLSettings()) { client, server in
            await #expect {
                let _: JSONValue = try await client.graphQL(query: "{ a }", variables: ["fail": true])
            } throws: { error in
                if case PulseError.graphQL(let errors) = error {
                    errors == [GraphQLError(message: "no", path: ["a", 1])]
                } else {
                    false
                }
            }
            let any = RequestOptions().with(\.acceptedStatuses, value: .any)
            for body in [#"{"query":"{ a"}"#, "{}", "x", "[]"] {
                var request = URLRequest(url: server.baseURL.appendingPathComponent("graphql"))
                (request.httpMethod, request.httpBody) = ("POST", Data(body.utf8))
                let response = try await client.rawRequest(request, options: any)
                #expect(response.statusCode == 400)
                #expect(try response.decode(JSONValue.self)["errors"]?[0]?["message"] != nil)
            }
            let url = try #require(URL(string: "\(server.baseURL.absoluteString)/graphql?query=mutation%7Ba%7D"))
            let response = try await client.rawRequest(URLRequest(url: url), options: any)
            #expect(response.statusCode == 405)
        }
    }

    @Test func uploadsArriveAtTheirPlaces() async throws {
        let server = try await MockServer.start()
        let received = Locked<[ReceivedOperation]>([])
        server.onGraphQL("/graphql") { operation in
            received.withLock { $0.append(operation) }
            return .data(Counted(count: operation.uploads.count))
        }
        let file = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent("upload-\(UUID()).bin")
        let bytes = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) }) + Data("\r\n--x\r\n\r\n".utf8)
        try bytes.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let client = client(of: server)
        let uploads = [
            GraphQLUpload("files.0", data: Data(), filename: "empty.txt"),
            GraphQLUpload("files.1", "files.2", file: file, filename: "ä.bin", mimeType: "image/x"),
        ]
        let operation = CountFiles(variables: .init(files: [.null, .null, .null]), uploads: uploads)
        #expect(try await client.graphQL(operation) == Counted(count: 2))
        let got = try #require(received.withLock { $0.first })
        #expect(got.variables == ["title": "Files", "files": [nil, nil, nil]])
        #expect(got.uploads.map(\.data) == [Data(), bytes])
        #expect(got.uploads.map(\.variables) == [["files.0"], ["files.1", "files.2"]])
        #expect(got.uploads.map(\.filename) == ["empty.txt", "ä.bin"])
        #expect(got.uploads.map(\.mimeType) == ["text/plain", "image/x"])
        #expect(got.request.headers["Apollo-Require-Preflight"] == "true")
        #expect(got.request.headers["Content-Length"] == String(got.request.bodyByteCount))
        await client.shutdown()
        await server.shutdown()
    }

    @Test(arguments: ["files.1", "files", "title", "files.0.x", "files.-1", "other", "", "files."])
    func anUploadAtAPlaceThatIsNotThereOrNotNullIsRefused(place: String) async throws {
        let transport = MockTransport(stubs: [])
        let client = ClientStage.client(.root, retry: .default, over: transport)
        let operation = CountFiles(
            variables: .init(files: [.null]), uploads: [GraphQLUpload(place, data: Data(), filename: "a")])
        await #expect { try await client.graphQL(operation) } throws: { ($0 as? PulseError)?.kind == .invalidRequest }
        #expect(transport.requests.isEmpty)
    }

    @Test func stubsMatchTheNameOfAnOperation() async throws {
        let stub = Stub.graphQL("Hero", data: ["name": "R2"])
        let failing = Stub.graphQL("Fail", .errors(GraphQLError(message: "no")))
        for usesGET in [false, true] {
            let settings = GraphQLSettings().with(\.queriesUseGET, value: usesGET)
            let transport = MockTransport(stubs: [stub, failing])
            let base = try #require(URL(string: "https://api.example.com"))
            let client = ClientStage.client(
                PulseConfiguration(baseURL: base).with(\.graphQL, value: settings), over: transport)
            let hero: JSONValue = try await client.graphQL(query: "query Hero { name }")
            #expect(hero == ["name": "R2"])
            await #expect {
                let _: JSONValue = try await client.graphQL(query: "query Fail { name }")
            } throws: { ($0 as? PulseError)?.kind == .graphQL }
            await #expect(throws: PulseError.self) {
                let _: JSONValue = try await client.graphQL(query: "query Other { name }")
            }
        }
        #expect(stub.count == 2)
    }
}
