// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

private struct GetTea: GraphQLOperation {
    struct Value: Decodable, Sendable { let name: String, stock: Int? }
    struct Variables: Encodable, Sendable { let id: Int }

    static let document = "query GetTea($id: ID!) { name stock }"
    let variables: Variables
}

private struct StockChanged: GraphQLOperation {
    struct Value: Decodable, Sendable { let stock: Int }

    static let document = "subscription StockChanged { stock }"
}

extension Stage {
    /// A GraphQL response with data and an error, to a persisted query that the server does not know yet.
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

    /// A subscription that is interrupted, reports it, and resumes.
    func showSubscription(_ server: MockServer, _ bus: PulseEventBus) async {
        let settings = GraphQLSettings().with(\.socketPath, value: "/graphql/live")
        // The wait before a reconnect passes at once.
        let client = PulseClient(
            configuration: PulseConfiguration(baseURL: server.baseURL).with(\.graphQL, value: settings)
                .with(\.clock, value: TestClock(autoAdvances: true)),
            plugins: [recorder], events: bus)
        // A stock for each connection, and a restart after the first one.
        server.onGraphQL("/graphql/live") { _ in
            let isFirst = server.activity.sockets.count { $0.path == "/graphql/live" } == 1
            return .events(
                AsyncStream { events in
                    events.yield(.data(["stock": isFirst ? 3 : 2]))
                    if isFirst { events.yield(.close(code: 1012, reason: "restart")) }
                    events.finish()
                })
        }
        await step("A subscription is cut and comes back", calls: 2) {
            let subscription = client.subscribe(StockChanged())
            let states = Task { [states = subscription.states] in await states.reduce(into: []) { $0.append($1) } }
            var stocks: [Int] = []
            for try await response in subscription { stocks.append(try response.value().stock) }
            let interruptions = await states.value.count { if case .interrupted = $0 { true } else { false } }
            guard stocks == [3, 2], interruptions == 1 else {
                throw Unexpected(description: "stocks \(stocks) with \(interruptions) interruptions")
            }
            return "\(stocks.count) responses with \(interruptions) interruption that was told"
        }
        await client.shutdown()
    }
}
