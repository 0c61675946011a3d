// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import Reporting

/// A GraphQL query, and the same JSON as an ordinary endpoint that knows nothing of GraphQL.
enum GraphQLWorkload {
    struct Content: Decodable, Sendable {
        let user: Workload.User
    }

    struct UserID: Codable, Sendable {
        let id: Int
    }

    struct GetUser: GraphQLOperation {
        typealias Value = Content
        static let document = "query GetUser($id: Int!) { user(id: $id) { id name isActive } }"
        let variables = UserID(id: 42)
    }

    struct PostUser: Endpoint {
        struct Response: Decodable, Sendable {
            let data: Content
        }

        struct Query: Codable, Sendable {
            let query: String
            let operationName: String
            let variables: UserID
        }

        let path = "/graphql"
        let method = HTTPMethod.post
        let body = RequestBody.json(
            Query(query: GetUser.document, operationName: "GetUser", variables: UserID(id: 42)))
    }

    /// The endpoint, and the operation.
    static func measurements() throws -> [Measurement] {
        var response = Data(#"{"data":{"user":"#.utf8)
        response.append(Workload.json)
        response.append(contentsOf: "}}".utf8)
        return [
            try Workload.calls("the JSON of a GraphQL query", to: PostUser(), response: response),
            try Workload.calls("GraphQL query", to: GetUser(), response: response),
        ]
    }

    /// Nil where allocations cannot be counted.
    static func promise(_ costs: [Cost]) -> Promise? {
        guard let json = costs[0].allocations, let query = costs[1].allocations else { return nil }
        return Promise(
            "allocations of a GraphQL query / of its JSON by request", .atMost, Promise.graphQL,
            measured: query / json, margin: 0)
    }
}
