// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlatform
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@testable import PulseGraphQL

private struct HeroData: Codable, Sendable, Equatable {
    var name: String
}

private struct GetHero: GraphQLOperation {
    typealias Value = HeroData
    struct Variables: Encodable, Sendable { var heroID = "7" }
    static let document = "query GetHero($heroID: ID!) { name(id: $heroID) }"
    var variables = Variables()
    var requestExtensions: [String: JSONValue] = [:]
    var options = RequestOptions()
}

private struct SaveHero: GraphQLOperation {
    typealias Value = HeroData
    static let document = "mutation SaveHero { name }"
    var variables: NoVariables { NoVariables() }
    var options = RequestOptions()
}

@Suite(.tags(.threads), .throttled)
struct GraphQLCallTests {
    private static let ok = Data(#"{"data":{"name":"R2"}}"#.utf8)
    private static let notFound = Data(#"{"errors":[{"message":"PersistedQueryNotFound"}]}"#.utf8)

    /// A client over a mock that responds with the bodies in turn, and with data after them.
    private func client(
        _ responses: [(status: Int, body: Data)] = [], _ settings: GraphQLSettings = GraphQLSettings(),
        configure: (inout PulseConfiguration) -> Void = { _ in }, plugins: [any PulsePlugin] = [],
        events: PulseEventBus = PulseEventBus()
    ) -> (PulseClient, MockTransport) {
        let rest = Locked(responses[...])
        let transport = MockTransport { (request: URLRequest) -> PulseResponse in
            let next = rest.withLock { $0.popFirst() } ?? (status: 200, body: Self.ok)
            return PulseResponse(
                statusCode: next.status, headers: ["Content-Type": "application/graphql-response+json"],
                data: next.body, request: request)
        }
        var configuration = PulseConfiguration.test().with(\.graphQL, value: settings)
        configure(&configuration)
        return (ClientStage.client(configuration, plugins: plugins, over: transport, events: events), transport)
    }

    private func body(_ request: URLRequest) throws -> JSONValue {
        try JSONDecoder().decode(JSONValue.self, from: request.httpBody ?? Data("null".utf8))
    }

    @Test func anOperationMayHaveAPathOfItsOwn() async throws {
        struct GetShopHero: GraphQLOperation {
            typealias Value = HeroData
            static let document = "query GetShopHero { name }"
            let variables = NoVariables()
            let shop: String
            var path: PathText { "/shops/\(shop)/graphql" }
        }
        let (client, transport) = client()
        #expect(try await client.graphQL(GetShopHero(shop: "a/b")) == HeroData(name: "R2"))
        let error = await #expect(throws: PulseError.self) { try await client.graphQL(GetShopHero(shop: "..")) }
        #expect(error?.kind == .invalidRequest)
        let sent = transport.requests.map { $0.url?.absoluteString }
        #expect(sent == ["https://api.example.com/v1/shops/a%2Fb/graphql"])
    }

    @Test func anOperationIsAPostOfJSON() async throws {
        let (client, transport) = client()
        #expect(try await client.graphQL(GetHero()) == HeroData(name: "R2"))
        let request = try #require(transport.requests.first)
        #expect(request.url?.absoluteString == "https://api.example.com/v1/graphql")
        #expect(request.httpMethod == "POST")
        #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/json")
        #expect(
            request.value(forHTTPHeaderField: "Accept")
                == "application/graphql-response+json, application/json;q=0.9")
        #expect(
            String(decoding: request.httpBody ?? Data(), as: UTF8.self)
                == #"{"query":"query GetHero($heroID: ID!) { name(id: $heroID) }","operationName":"GetHero","variables":{"heroID":"7"}}"#
        )
    }

    @Test func emptyMembersAreLeftOut() async throws {
        let (client, transport) = client()
        _ = try await client.graphQL(query: "{ me }", responseType: HeroData.self)
        _ = try await client.graphQL(query: "{ me }", variables: nil, responseType: HeroData.self)
        _ = try await client.graphQL(query: "{ me }", variables: ["a": 1], responseType: HeroData.self)
        _ = try await client.graphQL(query: "{ me }", variables: GetHero.Variables(), responseType: HeroData.self)
        _ = try await client.graphQL(GetHero(requestExtensions: ["trace": true]))
        _ = try await client.graphQL(SaveHero())
        let bodies = try transport.requests.map(body)
        #expect(
            bodies == [
                ["query": "{ me }"], ["query": "{ me }"], ["query": "{ me }", "variables": ["a": 1]],
                ["query": "{ me }", "variables": ["heroID": "7"]],
                [
                    "query": .string(GetHero.document), "operationName": "GetHero", "variables": ["heroID": "7"],
                    "extensions": ["trace": true],
                ],
                ["query": .string(SaveHero.document), "operationName": "SaveHero"],
            ])
    }

    @Test func theCallsCodersWriteVariablesAndReadDataAndNothingElse() async throws {
        let response = Data(#"{"data":{"first_name":"R2"},"extensions":{"trace_id":7},"errors":[]}"#.utf8)
        struct Named: GraphQLOperation {
            struct Value: Decodable, Sendable { var firstName: String }
            struct Variables: Encodable, Sendable { var heroName = "R2" }
            static let document = "query Named($hero_name: String) { first_name }"
            let variables = Variables()
        }
        let (client, transport) = client([(200, response)]) {
            $0.encoder = .json { $0.keyEncodingStrategy = .convertToSnakeCase }
            $0.decoder = .json { $0.keyDecodingStrategy = .convertFromSnakeCase }
        }
        let result = try await client.request(Named())
        #expect(result.data?.firstName == "R2")
        #expect(result.extensions == ["trace_id": 7])
        #expect(
            try body(transport.requests[0]) == [
                "query": .string(Named.document), "operationName": "Named", "variables": ["hero_name": "R2"],
            ])
    }

    @Test func partialDataIsReturnedWithItsErrorsOrThrown() async throws {
        let partial = Data(#"{"data":{"name":"R2"},"errors":[{"message":"no","path":["friends",1,"name"]}]}"#.utf8)
        let (client, _) = client([(200, partial), (200, partial)])
        let response = try await client.request(GetHero())
        #expect(response.data == HeroData(name: "R2"))
        #expect(response.errors.map(\.path) == [["friends", 1, "name"]])
        await #expect { try await client.graphQL(GetHero()) } throws: { ($0 as? PulseError)?.kind == .graphQL }
    }

    @Test func aQueryIsAGETWhileItsURLIsShort() async throws {
        let (client, transport) = client([], GraphQLSettings().with(\.queriesUseGET, value: true))
        _ = try await client.graphQL(GetHero())
        _ = try await client.graphQL(GetHero(variables: .init(heroID: String(repeating: "x", count: 8000))))
        _ = try await client.graphQL(SaveHero())
        #expect(transport.requests.map(\.httpMethod) == ["GET", "POST", "POST"])
        let request = transport.requests[0]
        #expect(request.httpBody == nil)
        #expect(request.value(forHTTPHeaderField: "Content-Type") == nil)
        #expect(request.value(forHTTPHeaderField: "Apollo-Require-Preflight") == "true")
        let items = URLComponents(url: try #require(request.url), resolvingAgainstBaseURL: false)?.queryItems
        #expect(
            items == [
                URLQueryItem(name: "query", value: GetHero.document),
                URLQueryItem(name: "operationName", value: "GetHero"),
                URLQueryItem(name: "variables", value: #"{"heroID":"7"}"#),
            ])
    }

    @Test func theLengthOfAURLIsAtMost8000Bytes() async throws {
        let (client, transport) = client([], GraphQLSettings().with(\.queriesUseGET, value: true))
        _ = try await client.graphQL(GetHero(variables: .init(heroID: "")))
        let rest = 8000 - (transport.requests[0].url?.absoluteString.utf8.count ?? 0)
        _ = try await client.graphQL(GetHero(variables: .init(heroID: String(repeating: "x", count: rest))))
        _ = try await client.graphQL(GetHero(variables: .init(heroID: String(repeating: "x", count: rest + 1))))
        #expect(transport.requests.map(\.httpMethod) == ["GET", "GET", "POST"])
    }

    @Test func theRouteIsTheNameOfTheOperation() async throws {
        let sink = RecordingSink()
        let (client, _) = client(events: PulseEventBus(sink: sink))
        _ = try await client.graphQL(GetHero())
        _ = try await client.graphQL(GetHero(options: RequestOptions().with(\.route, value: "hero")))
        #expect(
            sink.events.compactMap { $0.call?.route }.reduce(into: []) { if $0.last != $1 { $0.append($1) } } == [
                "GetHero", "hero",
            ])
    }

    @Test(arguments: [
        "", "fragment F on A { a }", "query A { a } query B { b }", "subscription S { s }", "query A {",
    ])
    func whatIsNoOneRequestIsRefusedBeforeItIsSent(document: String) async {
        let (client, transport) = client()
        await #expect { try await client.graphQL(query: document, responseType: HeroData.self) } throws: {
            ($0 as? PulseError)?.kind == .invalidRequest
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func variablesInAURLShowNoSecret() async throws {
        struct Login: GraphQLOperation {
            typealias Value = HeroData
            struct Variables: Encodable, Sendable { var input = ["password": "hunter2"] }
            static let document = "query Login($input: In!) { name(input: $input) }"
            let variables = Variables()
        }
        let (client, transport) = client(
            [(status: 404, body: Data())], GraphQLSettings().with(\.queriesUseGET, value: true))
        let result = await client.result(of: Login())
        let sent = try #require(transport.requests.first)
        #expect(sent.url?.absoluteString.contains("hunter2") == true)
        guard case .failure(let error) = result else {
            Issue.record("no failure")
            return
        }
        for text in [
            "\(error)", error.localizedDescription, sent.curlCommand(), Redaction.standard.url(try #require(sent.url)),
        ] {
            #expect(!text.contains("hunter2"), "\(text)")
        }
    }

    // MARK: Retries

    @Test func aQueryIsRetriedAndAMutationIsNot() async throws {
        let retries: (inout PulseConfiguration) -> Void = {
            ($0.retryPolicy, $0.clock) = (RetryPolicy.immediate(), TestClock())
        }
        let failure = (503, Data())
        let (queries, asked) = client([failure, failure], configure: retries)
        _ = try await queries.graphQL(GetHero())
        #expect(asked.requests.count == 3)
        let (mutations, saved) = client([failure, failure], configure: retries)
        await #expect { try await mutations.graphQL(SaveHero()) } throws: { ($0 as? PulseError)?.statusCode == 503 }
        #expect(saved.requests.count == 1)
        let (keyed, keyedTransport) = client([failure, failure], configure: retries)
        _ = try await keyed.graphQL(SaveHero(), options: RequestOptions().with(\.idempotencyKey, value: .automatic))
        #expect(keyedTransport.requests.count == 3)
    }

    // MARK: Persisted queries

    private static let hash: JSONValue = {
        let hash = SystemHashes.library?.sha256(GetHero.document)?.hex ?? ""
        return ["persistedQuery": ["version": 1, "sha256Hash": .string(hash)]]
    }()

    @Test func theDocumentFollowsAHashThatTheServerDoesNotKnow() async throws {
        let settings = GraphQLSettings().with(\.persistedQueries, value: .automatic)
        for status in [200, 400] {
            let (client, transport) = client([(status, Self.notFound)], settings)
            #expect(try await client.graphQL(GetHero()).name == "R2")
            #expect(try await client.graphQL(GetHero()).name == "R2")
            let known: JSONValue = ["operationName": "GetHero", "variables": ["heroID": "7"], "extensions": Self.hash]
            #expect(try body(transport.requests[0]) == known)
            #expect(
                try body(transport.requests[1]) == [
                    "query": .string(GetHero.document), "operationName": "GetHero", "variables": ["heroID": "7"],
                    "extensions": Self.hash,
                ])
            #expect(try body(transport.requests[2]) == known)
            #expect(transport.requests.count == 3)
        }
    }

    @Test func aSecondMissIsTheError() async throws {
        let settings = GraphQLSettings().with(\.persistedQueries, value: .automatic)
        let (client, transport) = client([(200, Self.notFound), (200, Self.notFound)], settings)
        await #expect { try await client.graphQL(GetHero()) } throws: { ($0 as? PulseError)?.kind == .graphQL }
        #expect(transport.requests.count == 2)
    }

    @Test func aServerWithoutPersistedQueriesIsAskedOnce() async throws {
        let settings = GraphQLSettings().with(\.persistedQueries, value: .automatic)
        let unsupported = Data(#"{"errors":[{"message":"PersistedQueryNotSupported"}]}"#.utf8)
        let (client, transport) = client([(200, unsupported)], settings)
        _ = try await client.graphQL(GetHero())
        _ = try await client.graphQL(SaveHero())
        let bodies = try transport.requests.map(body)
        #expect(bodies.map { $0["extensions"] == nil } == [false, true, true])
        #expect(bodies.map { $0["query"] == nil } == [true, false, false])
    }

    @Test func aHashIsAskedForByGETAndTheDocumentSentByPOST() async throws {
        let settings = GraphQLSettings().with(\.persistedQueries, value: .automaticWithGET)
        let (client, transport) = client([(200, Self.notFound)], settings)
        _ = try await client.graphQL(GetHero())
        _ = try await client.graphQL(SaveHero())
        #expect(transport.requests.map(\.httpMethod) == ["GET", "POST", "POST"])
        let names = URLComponents(url: try #require(transport.requests[0].url), resolvingAgainstBaseURL: false)?
            .queryItems?.map(\.name)
        #expect(names == ["operationName", "variables", "extensions"])
        #expect(transport.requests[1].value(forHTTPHeaderField: "Content-Type") == "application/json")
        #expect(transport.requests[1].url?.query == nil)
    }

    @Test func bothRequestsAreSignedAndCostNoAttempt() async throws {
        let settings = GraphQLSettings().with(\.persistedQueries, value: .automatic)
        let headers = HeadersPlugin(["X-Client": "7"])
        let (client, transport) = client([(200, Self.notFound)], settings, plugins: [headers])
        _ = try await client.graphQL(GetHero())
        #expect(transport.requests.map { $0.value(forHTTPHeaderField: "X-Client") } == ["7", "7"])
    }

    @Test func anIdempotencyKeyStandsForOneRequest() async throws {
        let settings = GraphQLSettings().with(\.persistedQueries, value: .automatic)
        let (client, transport) = client([], settings)
        _ = try await client.graphQL(SaveHero(options: RequestOptions().with(\.idempotencyKey, value: "k")))
        #expect(try body(transport.requests[0])["query"] != nil)
        #expect(transport.requests.count == 1)
    }

    @Test func bodiesAreComparedByTheirContent() {
        func value(_ tags: [String]) -> AnyHashable? {
            let content = GraphQLContent(
                document: "query A { a }", operationName: nil, variables: ["tags": tags], uploads: [], extensions: [:])
            return RequestBody.operation(content).comparisonValue
        }
        #expect(value(["a"]) != nil && value(["a"]) == value(["a"]) && value(["a"]) != value(["b"]))
    }
}
