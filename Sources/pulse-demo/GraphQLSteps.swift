// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

private struct GetTea: GraphQLOperation {
    struct Value: Decodable, Sendable { let name: String, stock: Int? }
    struct Variables: Encodable, Sendable { let id: Int }

    static let document = "query GetTea($id: ID!) { name stock }"
    let variables: Variables
}

extension Stage {
    /// A GraphQL response with data and an error, to a query whose document the server has to be told first.
    func showGraphQL(_ server: MockServer, _ bus: PulseEventBus) async {
        let settings = GraphQLSettings().with(\.persistedQueries, value: .automatic)
        let client = PulseClient(
            configuration: PulseConfiguration(baseURL: server.baseURL).with(\.graphQL, value: settings),
            plugins: [recorder], events: bus)
        server.onGraphQL("/graphql") { operation in
            .data(
                ["name": .string("tea \(operation.variables["id"] ?? .null)"), "stock": nil] as JSONValue,
                errors: [GraphQLError(message: "the warehouse is closed", path: ["stock"])])
        }
        await step("A GraphQL response is partial", calls: 1) {
            let response = try await client.request(GetTea(variables: .init(id: 11)))
            guard let tea = response.data, tea.stock == nil, let error = response.errors.first else {
                throw Unexpected(description: "a complete response")
            }
            let path = error.path.compactMap(\.stringValue).joined(separator: ".")
            return "\(tea.name), without \(path): \(error.message)"
        }
        await client.shutdown()
    }
}
