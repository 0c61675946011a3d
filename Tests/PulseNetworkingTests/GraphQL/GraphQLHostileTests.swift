// SPDX-License-Identifier: MIT

import PulseCore
import PulseGraphQL
import PulseTesting
import TestSupport
import Testing

private struct Hero: GraphQLOperation {
    struct Value: Decodable, Sendable { let name: JSONValue? }
    static let document = "query Hero { name }"
    typealias Variables = NoVariables
}

/// Responses of a server that wants to harm: each is a result or a typed error.
@HeavyWork
@Suite(.throttled, .tags(.addresses))
struct GraphQLHostileTests {
    private func result(
        of body: String, as type: String = "application/graphql-response+json", status: Int = 200
    ) async throws -> Result<GraphQLResponse<Hero.Value>, PulseError> {
        let body = Data(body.utf8)
        // A status of 500 would be retried after a real wait.
        return try await ClientStage.run(retry: .none) { client, server in
            server.on(.post, "/graphql") { _ in .data(body, contentType: type, status: status) }
            return await client.result(of: Hero())
        }
    }

    private func errors(of body: String, as type: String, status: Int) async throws -> [GraphQLError] {
        guard case .failure(.graphQL(let errors)) = try await result(of: body, as: type, status: status) else {
            return []
        }
        return errors
    }

    @Test func megabytesOfErrorsAreErrors() async throws {
        let error = #"{"message":"\#(String(repeating: "x", count: 1 << 20))"}"#
        let body = "{\"errors\":[\([String](repeating: error, count: 4).joined(separator: ","))]}"
        for (type, status) in [("application/graphql-response+json", 200), ("application/json", 400)] {
            let errors = try await errors(of: body, as: type, status: status)
            #expect(errors.count == 4 && errors.allSatisfy { $0.message.utf8.count == 1 << 20 })
        }
        let many = "{\"errors\":[\([String](repeating: #"{"message":""}"#, count: 20_000).joined(separator: ","))]}"
        #expect(try await errors(of: many, as: "application/json", status: 200).count == 20_000)
    }

    @Test func aLongPathHidesNoError() async throws {
        let path = "[\([String](repeating: "0", count: 20_000).joined(separator: ","))]"
        let body = #"{"data":null,"errors":[{"message":"no","path":\#(path)}]}"#
        let errors = try await errors(of: body, as: "application/graphql-response+json", status: 200)
        #expect(errors.map(\.message) == ["no"])
        #expect(errors.first?.path.count == 20_000)
    }

    @Test(arguments: [
        ("[", "]"), (#"{"a":"#, "}"), ("[", ""), (#"{"a":"#, ""), (#"[{"a":"#, "}]"),
    ])
    func deepNestingIsATypedError(opening: String, closing: String) async throws {
        let (open, close) = (String(repeating: opening, count: 50_000), String(repeating: closing, count: 50_000))
        let deep = open + "1" + close
        for text in [
            #"{"data":{"name":\#(deep)}}"#, #"{"data":{"name":"R2"},"extensions":\#(deep)}"#,
            #"{"data":null,"errors":[{"message":"no","extensions":{"a":\#(deep)}}]}"#, #"{"errors":\#(deep)}"#, deep,
            #"{"data":{"name":"R2"},"unknown":\#(deep)}"#,
        ] {
            for (type, status) in [
                ("application/graphql-response+json", 200), ("application/graphql-response+json", 500),
                ("application/json", 200), ("application/json", 400),
            ] {
                switch try await result(of: text, as: type, status: status) {
                case .success(let response):
                    // A member that is not decoded may be deep, if it ends.
                    #expect(
                        !closing.isEmpty && (status == 200 || type != "application/json") && response.data?.name == "R2"
                    )
                case .failure(let error):
                    #expect([.decodingFailed, .http, .graphQL].contains(error.kind), "\(error.kind)")
                }
            }
        }
    }
}
