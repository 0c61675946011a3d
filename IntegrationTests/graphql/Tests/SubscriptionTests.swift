// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// Subscriptions over the socket of a client.
@Suite(.servers, .serialized, .timeLimit(.minutes(5)))
struct SubscriptionTests {
    /// The values that are published on a topic.
    struct Topic: GraphQLOperation {
        struct Value: Decodable, Sendable {
            let topic: Int
        }

        struct Variables: Encodable, Sendable {
            let topic: String
        }

        static let document = "subscription OnTopic($topic: String!) { topic(topic: $topic) }"
        let variables: Variables

        init(_ topic: String) {
            variables = Variables(topic: topic)
        }
    }

    struct Count: GraphQLOperation {
        struct Value: Decodable, Sendable {
            let count: Int
        }

        struct Variables: Encodable, Sendable {
            let to: Int
        }

        static let document = "subscription Count($to: Int!) { count(to: $to) }"
        let variables: Variables

        init(to end: Int) {
            variables = Variables(to: end)
        }
    }

    /// A subscription to a topic, with a task that reads it.
    private struct Listener {
        let topic = GraphQLServers.newName()
        let subscription: GraphQLSubscription<Topic.Value>
        let values: AsyncThrowingStream<Int, any Error>
        let reading: Task<Void, Never>

        init(_ client: PulseClient) {
            let subscription = client.subscribe(Topic(topic))
            let (values, continuation) = AsyncThrowingStream<Int, any Error>.makeStream()
            reading = Task {
                do {
                    for try await response in subscription { continuation.yield(try response.value().topic) }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            (self.subscription, self.values) = (subscription, values)
        }

        /// Waits until the server has that many subscriptions to the topic, and so many have ended.
        func wait(_ client: PulseClient, subscribers: Int, ended: Int) async throws {
            _ = try await client.graphQL(
                query: "query Wait($topic: String!, $subscribers: Int!, $ended: Int!) {"
                    + " wait(topic: $topic, subscribers: $subscribers, ended: $ended) }",
                variables: [
                    "topic": .string(topic), "subscribers": .integer(Int64(subscribers)),
                    "ended": .integer(Int64(ended)),
                ], responseType: JSONValue.self, options: RequestOptions().with(\.deadline, value: 60))
        }

        /// Publishes a value, and expects it.
        func expect(_ value: Int, _ client: PulseClient, at place: SourceLocation = #_sourceLocation) async throws {
            let publication: [String: Int] = try await client.graphQL(
                query: "mutation Publish($topic: String!, $value: Int!) { publish(topic: $topic, value: $value) }",
                variables: ["topic": .string(topic), "value": .integer(Int64(value))])
            #expect(publication == ["publish": 1], sourceLocation: place)
            var iterator = values.makeAsyncIterator()
            let received = try await iterator.next()
            #expect(received == value, sourceLocation: place)
        }
    }

    /// The names of the first states.
    private static func names(_ states: AsyncStream<GraphQLSubscriptionState>, _ count: Int) async -> [String] {
        var names: [String] = []
        for await state in states {
            switch state {
            case .starting: names.append("starting")
            case .active: names.append("active")
            case .interrupted: names.append("interrupted")
            case .ended(nil): names.append("ended")
            case .ended(let error?): names.append("ended: \(error.kind)")
            }
            if names.count == count { break }
        }
        return names
    }

    /// The number of connections that these topics had.
    private static func connections(_ listeners: [Listener], _ client: PulseClient) async throws -> Int? {
        let response: [String: Int] = try await client.graphQL(
            query: "query Connections($topics: [String!]!) { connections(topics: $topics) }",
            variables: ["topics": .array(listeners.map { .string($0.topic) })])
        return response["connections"]
    }

    /// Runs `body` with listeners that the server knows.
    private static func withListeners(
        _ count: Int, of server: Server, by route: Route, _ path: String = "",
        settings: GraphQLSettings = GraphQLSettings(), plugins: [any PulsePlugin] = [],
        _ body: ([Listener], PulseClient) async throws -> Void
    ) async throws {
        try await GraphQLServers.withClient(
            of: server, by: route, path, settings: settings, plugins: plugins
        ) { client in
            let listeners = (0..<count).map { _ in Listener(client) }
            for listener in listeners { try await listener.wait(client, subscribers: 1, ended: 0) }
            try await body(listeners, client)
        }
    }

    @Test(arguments: Server.libraries, Route.allCases)
    func tenSubscriptionsShareASocketAndEachGetsItsOwn(library: Server, route: Route) async throws {
        try await Self.withListeners(10, of: library, by: route) { listeners, client in
            for round in 0..<3 {
                for (index, listener) in listeners.enumerated() {
                    try await listener.expect(index * 10 + round, client)
                }
            }
            let connections = try await Self.connections(listeners, client)
            #expect(connections == 1)
        }
    }

    @Test(arguments: Server.libraries, Route.allCases)
    func theServerIsToldOfACancelledSubscriptionAndTheOthersGoOn(library: Server, route: Route) async throws {
        try await Self.withListeners(10, of: library, by: route) { listeners, client in
            listeners[3].subscription.cancel()
            listeners[7].reading.cancel()
            for cancelled in [listeners[3], listeners[7]] {
                try await cancelled.wait(client, subscribers: 0, ended: 1)
                #expect(await Self.names(cancelled.subscription.states, 1) == ["ended: cancelled"])
            }
            for index in [0, 1, 2, 4, 5, 6, 8, 9] { try await listeners[index].expect(index, client) }
            let connections = try await Self.connections(listeners, client)
            #expect(connections == 1)
        }
    }

    @Test(arguments: Server.libraries, Route.allCases)
    func theServerEndsASubscriptionAndTheOthersGoOn(library: Server, route: Route) async throws {
        try await Self.withListeners(2, of: library, by: route) { listeners, client in
            let subscription = client.subscribe(Count(to: 5))
            var values: [Int] = []
            for try await response in subscription { values.append(try response.value().count) }
            #expect(values == [0, 1, 2, 3, 4])
            #expect(await Self.names(subscription.states, 1) == ["ended"])
            for listener in listeners { try await listener.expect(1, client) }
        }
    }

    /// The server refuses the second one.
    @Test(arguments: Server.libraries, Route.allCases)
    func aRefusedSubscriptionHasTheErrorsOfTheServerAndTheOthersGoOn(library: Server, route: Route) async throws {
        try await Self.withListeners(2, of: library, by: route) { listeners, client in
            let refused = client.subscribe(query: "subscription { nothing }", responseType: JSONValue.self)
            let error = await #expect(throws: PulseError.self) {
                for try await _ in refused {}
            }
            guard case .graphQL(let errors) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(errors.first?.message.hasPrefix("Cannot query field 'nothing' on type 'Subscription'.") == true)
            for listener in listeners { try await listener.expect(1, client) }
        }
    }

    /// The server aborts the connections, or the process of nginx that has them is killed.
    @Test(arguments: Server.libraries, Route.allCases)
    func aCutInterruptsAllAndTheyComeBack(library: Server, route: Route) async throws {
        try await Self.withListeners(10, of: library, by: route) { listeners, client in
            for (index, listener) in listeners.enumerated() { try await listener.expect(index, client) }
            let states = listeners.map(\.subscription.states)
            switch route {
            case .direct: _ = try await client.request(Request<EmptyResponse>(.post, "/cut"))
            case .tls: try GraphQLServers.killWorker()
            }
            for states in states { #expect(await Self.names(states, 3) == ["active", "interrupted", "active"]) }
            for listener in listeners { try await listener.wait(client, subscribers: 1, ended: 1) }
            for (index, listener) in listeners.enumerated() { try await listener.expect(100 + index, client) }
            let connections = try await Self.connections(listeners, client)
            #expect(connections == 2)
        }
    }

    /// strawberry closes with 4403, ariadne with 1000.
    @Test(arguments: Server.libraries, Route.allCases)
    func aRefusedPayloadIsAskedForAgain(library: Server, route: Route) async throws {
        let payloads = Payloads()
        let settings = GraphQLSettings().with(\.connectionPayload, value: { await payloads.next() })
        try await Self.withListeners(2, of: library, by: route, settings: settings) { listeners, client in
            for listener in listeners { try await listener.expect(1, client) }
            let connections = try await Self.connections(listeners, client)
            #expect(connections == 1)
        }
        #expect(await payloads.count == 2)
    }

    private actor Payloads {
        private(set) var count = 0

        func next() -> [String: JSONValue] {
            count += 1
            return ["token": count == 1 ? "old" : "new"]
        }
    }

    @Test(arguments: Server.libraries, Route.allCases)
    func aRefusedTokenIsRefreshedOnceForTheSocketAndTheCalls(library: Server, route: Route) async throws {
        let session = Session()
        try await Self.withListeners(
            2, of: library, by: route, "/guarded", plugins: [.auth(session)]
        ) { listeners, client in
            for listener in listeners { try await listener.expect(1, client) }
        }
        #expect(await session.refreshes == 1)
    }
}
