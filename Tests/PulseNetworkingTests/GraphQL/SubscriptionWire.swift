// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseStorage
import PulseTesting
import TestSupport

/// A server of `graphql-transport-ws`, step by step, and the client for it.
struct SubscriptionWire: Sendable {
    let socket: ServerSocket

    /// A client over sockets in memory.
    static func client(
        clock: any PulseClock = TestClock(autoAdvances: true), settings: GraphQLSettings = GraphQLSettings(),
        stubs: [Stub] = [], subprotocols: [String] = ["graphql-transport-ws"], plugins: [any PulsePlugin] = [],
        events: PulseEventBus = PulseEventBus(), _ serve: @escaping @Sendable (SubscriptionWire) async throws -> Void
    ) -> (PulseClient, MockTransport) {
        let transport = MockTransport(stubs: stubs, subprotocols: subprotocols, clock: clock) {
            try await serve(SubscriptionWire(socket: $0))
        }
        let client = ClientStage.client(
            .root.with(\.connectivity, value: ManualConnectivityMonitor()).with(\.graphQL, value: settings),
            plugins: plugins, retry: .default, clock: clock, over: transport, events: events)
        return (client, transport)
    }

    /// Lets time pass until something is so.
    static func pass(_ clock: TestClock, until isSo: () -> Bool) async {
        while !isSo() { await clock.advance(by: 1) }
    }

    /// The next message; nil once the client has closed.
    func receive() async throws -> JSONValue? {
        guard case .text(let text)? = try await socket.receive() else { return nil }
        return try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    }

    func send(_ text: String) async throws {
        try await socket.send(.text(text))
    }

    /// Acknowledges the connection. Returns the payload of its beginning.
    @discardableResult
    func greet() async throws -> JSONValue? {
        let message = try await receive()
        guard message?["type"] == "connection_init" else { throw Unexpected(message: message) }
        try await send(#"{"type":"connection_ack"}"#)
        return message?["payload"]
    }

    /// The next message, which must be of that type: its id and payload.
    @discardableResult
    func expect(_ type: String) async throws -> (id: String, payload: JSONValue?) {
        let message = try await receive()
        guard let message, message["type"]?.stringValue == type else { throw Unexpected(message: message) }
        return (message["id"]?.stringValue ?? "", message["payload"])
    }

    func next(_ id: String, _ number: Int) async throws {
        try await send(#"{"id":"\#(id)","type":"next","payload":{"data":{"number":\#(number)}}}"#)
    }

    func complete(_ id: String) async throws {
        try await send(#"{"id":"\#(id)","type":"complete"}"#)
    }

    func untilClosed() async throws {
        while try await receive() != nil {}
    }

    struct Unexpected: Error {
        let message: JSONValue?
    }
}

struct Ticks: GraphQLOperation {
    struct Value: Codable, Sendable, Equatable { var number: Int? }
    struct Variables: Encodable, Sendable { var roomName = "tea" }
    static let document = "subscription Ticks($roomName: String) { number(room: $roomName) }"
    var variables = Variables()
    var options = RequestOptions()
    var headers: [String: String] = [:]
    var path = ""
}

extension GraphQLSubscription where Value == Ticks.Value {
    /// All numbers, and the error at the end.
    func all() async -> (numbers: [Int?], error: PulseError?) {
        var numbers: [Int?] = []
        do {
            for try await response in self { numbers.append(response.data?.number) }
            return (numbers, nil)
        } catch {
            return (numbers, PulseError(wrapping: error))
        }
    }
}

extension GraphQLSubscription {
    func first() async throws -> GraphQLResponse<Value>? {
        var reader = makeAsyncIterator()
        return try await reader.next()
    }

    /// The names of all states.
    func allStates() -> Task<[String], Never> {
        let states = states
        return Task { await states.reduce(into: []) { $0.append($1.name) } }
    }
}

extension GraphQLSubscriptionState {
    var name: String {
        switch self {
        case .starting: "starting"
        case .active: "active"
        case .interrupted: "interrupted"
        case .ended(let error): error.map { "ended \($0.kind)" } ?? "ended"
        }
    }
}
