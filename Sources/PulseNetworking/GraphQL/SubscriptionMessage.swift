// SPDX-License-Identifier: MIT

import PulseCore

/// A message from the server in the `graphql-transport-ws` protocol.
enum SubscriptionMessage: Sendable {
    case acknowledgement
    /// A response, as JSON.
    case next(id: String, payload: Data)
    case error(id: String, [GraphQLError])
    case complete(id: String)
    case ping
    case pong

    /// The subprotocol of the handshake.
    static let subprotocol = "graphql-transport-ws"

    /// Why a message violates the protocol; a few words, since a close frame carries them.
    struct Fault: Error {
        let reason: String
    }

    init(_ message: SocketMessage) throws(Fault) {
        guard case .text(let text) = message else { throw Fault(reason: "a binary message") }
        guard let members = try? JSONMembers(of: Data(text.utf8)) else { throw Fault(reason: "no JSON object") }
        switch Self.string("type", members) {
        case "connection_ack":
            self = .acknowledgement
        case "next":
            guard let payload = members["payload"], payload.first == UInt8(ascii: "{") else {
                throw Fault(reason: "next without a payload")
            }
            self = .next(id: try Self.id(members), payload: payload)
        case "error":
            // Even with a malformed payload, it ends one operation and not the shared connection.
            self = .error(id: try Self.id(members), Self.errors(members["payload"]))
        case "complete":
            self = .complete(id: try Self.id(members))
        case "ping":
            self = .ping
        case "pong":
            self = .pong
        case _?:
            throw Fault(reason: "an unknown type")
        case nil:
            throw Fault(reason: "no type")
        }
    }

    private static func id(_ members: JSONMembers) throws(Fault) -> String {
        guard let id = string("id", members), !id.isEmpty else { throw Fault(reason: "no id") }
        return id
    }

    /// A list of errors, or a single error, as some servers send.
    private static func errors(_ payload: Data?) -> [GraphQLError] {
        let decoder = JSONResponseDecoder()
        if let payload {
            if let errors = try? decoder.decode([GraphQLError].self, from: payload), !errors.isEmpty { return errors }
            if let error = try? decoder.decode(GraphQLError.self, from: payload) { return [error] }
        }
        return [GraphQLError(message: "")]
    }

    private static func string(_ name: String, _ members: JSONMembers) -> String? {
        members[name].flatMap { try? JSONDecoder().decode(String.self, from: $0) }
    }
}

extension SocketMessage {
    // The messages that a client sends.

    static func initialization(_ payload: [String: JSONValue]?) throws -> SocketMessage {
        protocolMessage("connection_init", payload: try payload.map { try JSONEncoder().encode($0) })
    }

    /// - Parameter request: the members of a GraphQL request, as a JSON object.
    static func subscribe(id: Int, _ request: Data) -> SocketMessage {
        protocolMessage("subscribe", id: id, payload: request)
    }

    static func complete(id: Int) -> SocketMessage {
        protocolMessage("complete", id: id)
    }

    static let pong = protocolMessage("pong")

    private static func protocolMessage(_ type: String, id: Int? = nil, payload: Data? = nil) -> SocketMessage {
        let id = id.map { ",\"id\":\"\($0)\"" } ?? ""
        let payload = payload.map { ",\"payload\":" + String(decoding: $0, as: UTF8.self) } ?? ""
        return .text("{\"type\":\"\(type)\"\(id)\(payload)}")
    }
}
