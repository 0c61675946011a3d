// SPDX-License-Identifier: MIT

import PulseCore

/// A client's message in graphql-transport-ws.
enum OperationMessage: Sendable {
    case initialize([String: JSONValue])
    case ping(payload: JSONValue?)
    case pong
    case subscribe(id: String, payload: [String: JSONValue])
    case complete(id: String)

    /// The reason why a message is not valid in the protocol.
    struct Fault: Error {
        let reason: String
    }

    /// Throws ``Fault``.
    init(_ message: SocketMessage) throws(Fault) {
        guard case .text(let text) = message else { throw Fault(reason: "the message is binary") }
        guard let value = try? JSONResponseDecoder().decode(JSONValue.self, from: Data(text.utf8)),
            let members = value.objectValue
        else { throw Fault(reason: "the message is no JSON object") }
        guard let type = members["type"]?.stringValue else { throw Fault(reason: "the message has no type") }
        switch type {
        case "connection_init": self = .initialize(try Self.object(members["payload"], "payload") ?? [:])
        case "ping": self = .ping(payload: try Self.object(members["payload"], "payload").map { .object($0) })
        case "pong":
            _ = try Self.object(members["payload"], "payload")
            self = .pong
        case "subscribe": self = .subscribe(id: try Self.id(members), payload: try Self.operation(members))
        case "complete": self = .complete(id: try Self.id(members))
        default: throw Fault(reason: "no client sends the type \(type)")
        }
    }

    private static func id(_ members: [String: JSONValue]) throws(Fault) -> String {
        guard let id = members["id"]?.stringValue, !id.isEmpty else { throw Fault(reason: "the message has no id") }
        return id
    }

    private static func operation(_ members: [String: JSONValue]) throws(Fault) -> [String: JSONValue] {
        guard let payload = try object(members["payload"], "payload"), payload["query"]?.stringValue != nil else {
            throw Fault(reason: "the payload has no query")
        }
        _ = try object(payload["variables"], "variables")
        _ = try object(payload["extensions"], "extensions")
        switch payload["operationName"] {
        case nil, .null?, .string?: return payload
        default: throw Fault(reason: "operationName is no text")
        }
    }

    /// The object; nil if it is missing or null.
    private static func object(_ value: JSONValue?, _ name: String) throws(Fault) -> [String: JSONValue]? {
        guard let value, !value.isNull else { return nil }
        guard let members = value.objectValue else { throw Fault(reason: "\(name) is no JSON object") }
        return members
    }

    /// A message from the server. Its payload is JSON text.
    static func text(_ type: String, id: String? = nil, payload: Data? = nil) throws -> SocketMessage {
        var text = Data("{".utf8)
        if let id { text += Data("\"id\":".utf8) + (try JSONEncoder().encode(id)) + Data(",".utf8) }
        text += Data("\"type\":\"\(type)\"".utf8)
        if let payload { text += Data(",\"payload\":".utf8) + payload }
        return .text(String(decoding: text + Data("}".utf8), as: UTF8.self))
    }
}
