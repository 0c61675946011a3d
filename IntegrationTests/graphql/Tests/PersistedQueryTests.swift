// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// Persisted queries, with a server that responds in `application/graphql-response+json`.
@Suite(.servers, .timeLimit(.minutes(5)))
struct PersistedQueryTests {
    struct Greet: GraphQLOperation {
        struct Value: Decodable, Sendable {
            let greeting: String
        }

        struct Variables: Encodable, Sendable {
            let name: String
        }

        static let document = "query Greet($name: String!) { greeting(name: $name) }"
        let variables: Variables

        init(_ name: String) {
            variables = Variables(name: name)
        }
    }

    struct Add: GraphQLOperation {
        struct Value: Decodable, Sendable {
            let add: Int
        }

        static let document = "mutation { add(count: 7) }"
    }

    /// Runs `body` with a client whose server has that behavior, and returns the requests that the server got.
    private static func requests(
        to behavior: String, by route: Route, _ persisted: GraphQLSettings.PersistedQueries,
        queriesUseGET: Bool = false, _ body: (PulseClient) async throws -> Void
    ) async throws -> [String] {
        let path = "\(behavior)/\(GraphQLServers.newName())"
        let settings = GraphQLSettings().with(\.path, value: path).with(\.persistedQueries, value: persisted)
            .with(\.queriesUseGET, value: queriesUseGET)
        return try await GraphQLServers.withClient(of: .persisted, by: route, "/", settings: settings) { client in
            try await body(client)
            return try await client.get("log/\(raw: path)")
        }
    }

    private static func expectGreeting(of name: String, _ client: PulseClient) async throws {
        let greeting = try await client.graphQL(Greet(name)).greeting
        #expect(greeting == "Hello, \(name)")
    }

    @Test(arguments: Route.allCases)
    func anUnknownHashIsSentAgainWithTheDocument(route: Route) async throws {
        let requests = try await Self.requests(to: "store", by: route, .automatic) { client in
            try await Self.expectGreeting(of: "Ada", client)
            try await Self.expectGreeting(of: "Grace", client)
            _ = try await client.graphQL(Add())
        }
        #expect(requests == ["POST hash", "POST document hash", "POST hash", "POST hash", "POST document hash"])
    }

    @Test(arguments: Route.allCases)
    func theHashOfAQueryGoesByGET(route: Route) async throws {
        let requests = try await Self.requests(to: "store", by: route, .automaticWithGET) { client in
            try await Self.expectGreeting(of: "Ada", client)
            try await Self.expectGreeting(of: "Grace", client)
            _ = try await client.graphQL(Add())
        }
        #expect(requests == ["GET hash", "POST document hash", "GET hash", "POST hash", "POST document hash"])
    }

    @Test(arguments: Route.allCases)
    func theDocumentGoesByGETTooIfQueriesDo(route: Route) async throws {
        let requests = try await Self.requests(to: "store", by: route, .automatic, queriesUseGET: true) { client in
            try await Self.expectGreeting(of: "Ada", client)
        }
        #expect(requests == ["GET hash", "GET document hash"])
    }

    @Test(arguments: Route.allCases)
    func aSecondMissIsTheError(route: Route) async throws {
        let requests = try await Self.requests(to: "forgetful", by: route, .automatic) { client in
            let error = await #expect(throws: PulseError.self) { try await client.graphQL(Greet("Ada")) }
            guard case .graphQL(let errors) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(errors.map(\.message) == ["PersistedQueryNotFound"])
            #expect(errors.first?.extensions["code"] == "PERSISTED_QUERY_NOT_FOUND")
        }
        #expect(requests == ["POST hash", "POST document hash"])
    }

    @Test(arguments: [GraphQLSettings.PersistedQueries.automatic, .automaticWithGET])
    func aServerWithoutHashesGetsDocumentsOnly(persisted: GraphQLSettings.PersistedQueries) async throws {
        let requests = try await Self.requests(to: "unsupported", by: .tls, persisted) { client in
            try await Self.expectGreeting(of: "Ada", client)
            try await Self.expectGreeting(of: "Grace", client)
        }
        let first = persisted == .automatic ? "POST hash" : "GET hash"
        #expect(requests == [first, "POST document", "POST document"])
    }
}
