// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// Queries and mutations, and their errors.
@Suite(.servers, .timeLimit(.minutes(5)))
struct OperationTests {
    private static func errors(_ error: PulseError?) -> [GraphQLError] {
        guard case .graphQL(let errors)? = error else {
            Issue.record("\(String(describing: error))")
            return []
        }
        return errors
    }

    @Test(arguments: Server.libraries, Route.allCases)
    func aQueryHasItsData(library: Server, route: Route) async throws {
        try await GraphQLServers.withClient(of: library, by: route) { client in
            let hero = try #require(try await client.graphQL(GetHero("2000")).hero)
            #expect(hero.name == "C-3PO")
            #expect(hero.friends.map(\.name) == ["Luke", "Han"])
            // Null is data without an error.
            #expect(try await client.graphQL(GetHero("none")).hero == nil)
        }
    }

    @Test(arguments: Server.libraries, Route.allCases)
    func partialDataHasAnErrorWithAPathThroughAList(library: Server, route: Route) async throws {
        try await GraphQLServers.withClient(of: library, by: route) { client in
            let response = try await client.request(GetHero("2001"))
            #expect(response.data?.hero?.friends.map(\.name) == ["Luke", nil, "Leia"])
            let error = try #require(response.errors.first)
            #expect(response.errors.count == 1)
            #expect(error.message == "this friend is secret")
            #expect(error.path == ["hero", "friends", 1, "name"])
            #expect(error.locations == [GraphQLError.Location(line: 1, column: 58)])
            let thrown = await #expect(throws: PulseError.self) { try await client.graphQL(GetHero("2001")) }
            #expect(Self.errors(thrown) == response.errors)
        }
    }

    /// ariadne has status 400 for this, strawberry 200.
    @Test(arguments: Server.libraries, Route.allCases)
    func dataThatIsNullHasTheErrorsOfTheServer(library: Server, route: Route) async throws {
        try await GraphQLServers.withClient(of: library, by: route) { client in
            let error = await #expect(throws: PulseError.self) {
                try await client.graphQL(query: "{ required }", responseType: JSONValue.self)
            }
            let errors = Self.errors(error)
            #expect(errors.map(\.message) == ["there is no value"])
            #expect(errors.first?.path == ["required"])
        }
    }

    /// ariadne has status 400 for this, strawberry 200.
    @Test(arguments: Server.libraries, Route.allCases)
    func anInvalidDocumentHasTheErrorsOfTheServer(library: Server, route: Route) async throws {
        try await GraphQLServers.withClient(of: library, by: route) { client in
            let error = await #expect(throws: PulseError.self) {
                try await client.graphQL(query: "query { hero(id: 1) { nam } }", responseType: JSONValue.self)
            }
            let errors = Self.errors(error)
            #expect(errors.first?.message.hasPrefix("Cannot query field 'nam' on type 'Hero'.") == true)
            #expect(errors.first?.locations == [GraphQLError.Location(line: 1, column: 23)])
        }
    }

    @Test(arguments: Server.libraries, Route.allCases)
    func aMutationIsDoneOnce(library: Server, route: Route) async throws {
        let name = GraphQLServers.newName()
        try await GraphQLServers.withClient(of: library, by: route) { client in
            let sums = [try await client.graphQL(Add(name, 3)).add, try await client.graphQL(Add(name, 4)).add]
            #expect(sums == [3, 7])
            let error = await #expect(throws: PulseError.self) {
                try await client.graphQL(query: "mutation { refuse }", responseType: JSONValue.self)
            }
            #expect(Self.errors(error).map(\.message) == ["refused"])
        }
    }

    @Test(arguments: Server.libraries, Route.allCases)
    func aQueryGoesByGETAndAMutationByPOST(library: Server, route: Route) async throws {
        let settings = GraphQLSettings().with(\.queriesUseGET, value: true)
        let name = GraphQLServers.newName()
        try await GraphQLServers.withClient(of: library, by: route, settings: settings) { client in
            let text = "a + b & c = \"d\" % é \u{1F600} #?/"
            let short = try await client.graphQL(GetMethod(text)).method
            #expect(short == "GET \(text)")
            let sum = try await client.graphQL(Add(name, 1)).add
            #expect(sum == 1)
            // Its URL would be too long.
            let letters = String(repeating: "é", count: 2_000)
            let long = try await client.graphQL(GetMethod(letters)).method
            #expect(long == "POST \(letters)")
        }
    }

    @Test(arguments: Server.libraries, Route.allCases)
    func aRefusedTokenIsRefreshedOnce(library: Server, route: Route) async throws {
        let session = Session()
        let name = GraphQLServers.newName()
        try await GraphQLServers.withClient(of: library, by: route, "/guarded", plugins: [.auth(session)]) { client in
            async let first = client.graphQL(GetMethod("first")).method
            async let second = client.graphQL(GetMethod("second")).method
            let methods = try await [first, second]
            #expect(methods == ["POST first", "POST second"])
            let sum = try await client.graphQL(Add(name, 1)).add
            #expect(sum == 1)
        }
        #expect(await session.refreshes == 1)
    }
}
