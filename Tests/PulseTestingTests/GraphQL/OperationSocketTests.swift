// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

/// What the operations of a socket receive and send.
@Suite(.tags(.threads), .throttled)
struct OperationSocketTests {
    private struct Failed: Error, CustomStringConvertible {
        let description = "the sequence has failed"
    }

    private static func stream(_ replies: OperationReply...) -> OperationReply {
        .events(
            AsyncStream { continuation in
                for reply in replies { continuation.yield(reply) }
                continuation.finish()
            })
    }

    @Test func anOperationKnowsItsConnection() async throws {
        let received = Seen<ReceivedOperation>()
        try await OperationClient.run(payload: ["token": "t-1", "n": [1, nil]]) { operation in
            received.add(operation)
            return .data([operation.kind.rawValue: operation.variables["id"]])
        } test: { client, server in
            let document: JSONValue = "query Q { a } mutation M { a } subscription S { a }"
            for (id, kind, name) in [("1", "query", "Q"), ("2", "mutation", "M"), ("3", "subscription", "S")] {
                try await client.subscribe(
                    id,
                    [
                        "query": document, "operationName": .string(name), "variables": ["id": .string(id)],
                        "extensions": ["trace": 7],
                    ])
                try await client.expect(.next(id, [kind: .string(id)]), .complete(id))
            }
            try await client.subscribe("4", ["query": "{ a }", "operationName": nil, "variables": nil, "other": 1])
            try await client.expect(.next("4", ["query": nil]), .complete("4"))
            #expect(received.values.map(\.name) == ["Q", "M", "S", nil])
            for operation in received.values {
                #expect(operation.connectionPayload == ["token": "t-1", "n": [1, nil]])
                #expect(operation.request.headers["X-Test"] == "1")
                #expect(operation.socket?.subprotocol == "graphql-transport-ws")
            }
            #expect(received.values[0].extensions == ["trace": 7])
            #expect(server.activity.sockets.first?.messageCount == 5)
        }
    }

    @Test func eventsComeInOrderAndEndWithComplete() async throws {
        try await OperationClient.run { operation in
            let count = Int(operation.variables["count"]?.integerValue ?? 0)
            return .events(
                AsyncStream { continuation in
                    for number in 0..<count { continuation.yield(.data(number)) }
                    continuation.finish()
                })
        } test: { client, _ in
            for count in [0, 1, 1000] {
                let id = "count \(count) \"ä\""
                try await client.subscribe(
                    id, ["query": "subscription S { s }", "variables": ["count": .integer(Int64(count))]])
                for number in 0..<count { try await client.expect(.next(id, .integer(Int64(number)))) }
                try await client.expect(.complete(id))
            }
        }
    }

    @Test func anEventMayBePartialOrAnErrorOrEventsInTurn() async throws {
        let error = GraphQLError(message: "no", path: ["a", 1], extensions: ["code": "X"])
        try await OperationClient.run { _ in
            Self.stream(
                .data(1, errors: [error], extensions: ["n": 1.5]), .errors(error), Self.stream(.data(2), .data(3)),
                .data(4))
        } test: { client, _ in
            try await client.subscribe("1")
            let errors: JSONValue = [["message": "no", "path": ["a", 1], "extensions": ["code": "X"]]]
            try await client.expect(
                ["id": "1", "type": "next", "payload": ["data": 1, "errors": errors, "extensions": ["n": 1.5]]],
                ["id": "1", "type": "next", "payload": ["data": nil, "errors": errors]],
                .next("1", 2), .next("1", 3), .next("1", 4), .complete("1"))
        }
    }

    @Test func anErrorOfTheSequenceIsTheLastMessage() async throws {
        try await OperationClient.run { operation in
            let fails: any Error =
                operation.name == "Typed" ? GraphQLError(message: "no", path: ["a", 1]) : Failed()
            return .events(
                AsyncThrowingStream { continuation in
                    continuation.yield(.data(1))
                    continuation.finish(throwing: fails)
                })
        } test: { client, _ in
            try await client.subscribe("1", ["query": "subscription Typed { s }"])
            try await client.expect(.next("1", 1), .error("1", ["message": "no", "path": ["a", 1]]))
            try await client.subscribe("1")
            try await client.expect(.next("1", 1), .error("1", ["message": "the sequence has failed"]))
            #expect(try await client.messagesBeforePong().isEmpty)
        }
    }

    @Test func whatFailsAsAWholeIsAnErrorMessage() async throws {
        try await OperationClient.run { operation in
            switch operation.name {
            case "Errors": .errors(GraphQLError(message: "a"), GraphQLError(message: "b"))
            case "Throws": throw GraphQLError(message: "thrown", extensions: ["code": 7])
            case "NaN": .data(Double.nan)
            case "NaNEvent": Self.stream(.data(1), .data(Double.nan), .data(2))
            case "NaNError": .errors(GraphQLError(message: "n", extensions: ["n": .number(.infinity)]))
            case "Code": .close(code: 1006)
            default: .close(code: 4000, reason: String(repeating: "x", count: 124))
            }
        } test: { client, _ in
            try await client.subscribe("1", ["query": "query Errors { a }"])
            try await client.expect(.error("1", ["message": "a"], ["message": "b"]))
            try await client.subscribe("1", ["query": "query Throws { a }"])
            try await client.expect(.error("1", ["message": "thrown", "extensions": ["code": 7]]))
            try await client.subscribe("1", ["query": "subscription NaNEvent { a }"])
            try await client.expect(.next("1", 1))
            for (index, document) in [
                nil, "{ a", "query NaN { a }", "query NaNError { a }", "query Code { a }", "{ a }",
            ]
            .enumerated() {
                if let document { try await client.subscribe("1", ["query": .string(document)]) }
                let error = try await client.receive()
                #expect(error["type"] == "error" && error["id"] == "1" && error["payload"]?.arrayValue?.count == 1)
                #expect(error["payload"]?[0]?["message"]?.stringValue?.isEmpty == false, "\(index)")
            }
            try await client.subscribe("1", ["query": "query A { a }", "operationName": "B"])
            #expect(try await client.receive()["type"] == "error")
            #expect(try await client.messagesBeforePong().isEmpty)
        }
    }

    @Test func documentsOfHashesAreThoseOfTheWholePath() async throws {
        try await OperationClient.run { operation in
            .data(operation.document)
        } test: { client, server in
            let hash: JSONValue = ["persistedQuery": ["version": 1, "sha256Hash": "abc"]]
            try await client.subscribe("1", ["query": "{ a }", "extensions": hash])
            try await client.expect(.next("1", "{ a }"), .complete("1"))
            var request = URLRequest(url: server.baseURL.appendingPathComponent("graphql"))
            (request.httpMethod, request.httpBody) = ("POST", try JSONEncoder().encode(["extensions": hash]))
            let plain = ClientStage.client(of: server, retry: .default)
            #expect(try await plain.rawRequest(request).decode(JSONValue.self) == ["data": "{ a }"])
            await plain.shutdown()
        }
    }

    @Test func operationsDoNotWaitForEachOther() async throws {
        let (first, second) = (AsyncStream<OperationReply>.makeStream(), AsyncStream<OperationReply>.makeStream())
        try await OperationClient.run { operation in
            .events(operation.name == "A" ? first.stream : second.stream)
        } test: { client, _ in
            try await client.subscribe("a", ["query": "subscription A { s }"])
            try await client.subscribe("b", ["query": "subscription B { s }"])
            for number in 0..<20 {
                let isFirst = number % 3 != 0
                (isFirst ? first : second).continuation.yield(.data(number))
                try await client.expect(.next(isFirst ? "a" : "b", .integer(Int64(number))))
            }
            first.continuation.finish()
            try await client.expect(.complete("a"))
            second.continuation.yield(.data("last"))
            second.continuation.finish()
            try await client.expect(.next("b", "last"), .complete("b"))
        }
    }

    @Test func manyOperationsKeepTheOrderOfEach() async throws {
        try await OperationClient.run { _ in
            Self.stream(.data(0), .data(1), .data(2), .data(3), .data(4))
        } test: { client, _ in
            for id in 0..<50 { try await client.subscribe("\(id)") }
            var next = [String: Int64]()
            var completed = Set<String>()
            while completed.count < 50 {
                let message = try await client.receive()
                let id = try #require(message["id"]?.stringValue)
                #expect(!completed.contains(id))
                if message["type"] == "complete" {
                    #expect(next[id] == 5)
                    completed.insert(id)
                } else {
                    #expect(message == .next(id, .integer(next[id, default: 0])))
                    next[id, default: 0] += 1
                }
            }
        }
    }

    // MARK: HTTP and stubs

    @Test func eventsNeedASocket() async throws {
        try await ClientStage.run(retry: .default) { client, server in
            server.onGraphQL("/graphql") { operation in
                operation.name == "Close" ? .close(code: 4403) : Self.stream(.data(1))
            }
            for (name, text) in [("Close", "close code"), ("Events", "graphql-transport-ws")] {
                var request = URLRequest(url: server.baseURL.appendingPathComponent("graphql"))
                (request.httpMethod, request.httpBody) = ("POST", Data(#"{"query":"query \#(name) { a }"}"#.utf8))
                let options = RequestOptions().with(\.acceptedStatuses, value: .any)
                let response = try await client.rawRequest(request, options: options)
                #expect(response.statusCode == 400)
                let errors = try response.decode(JSONValue.self)["errors"]
                #expect(errors?[0]?["message"]?.stringValue?.contains(text) == true)
            }
        }
        for reply in [Self.stream(.data(1)), .close(code: 4403)] {
            let transport = MockTransport(stubs: [.graphQL("Q", reply)])
            let client = ClientStage.client(.root, retry: .default, over: transport)
            await #expect {
                try await client.graphQL(query: "query Q { a }", responseType: JSONValue.self)
            } throws: { ($0 as? PulseError)?.kind == .unsupported }
            await client.shutdown()
        }
    }
}
