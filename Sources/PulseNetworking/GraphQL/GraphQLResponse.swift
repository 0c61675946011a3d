// SPDX-License-Identifier: MIT

import PulseCalls
public import PulseCore

/// A GraphQL response with data (GraphQL specification, section 7.1). It may be partial, with the errors of its missing
/// parts.
public struct GraphQLResponse<Value: Decodable & Sendable>: Sendable {
    /// The data; nil if the response has none.
    public let data: Value?
    /// The errors, in the server's order; empty if there are none.
    public let errors: [GraphQLError]
    /// Additional data from the server; empty if there is none.
    public let extensions: [String: JSONValue]

    /// Creates a response, for tests.
    public init(data: Value?, errors: [GraphQLError] = [], extensions: [String: JSONValue] = [:]) {
        self.data = data
        self.errors = errors
        self.extensions = extensions
    }

    /// The complete data. Throws ``PulseError/graphQL(_:)`` if there is any error, and ``PulseError/emptyBody`` without
    /// data.
    public func value() throws -> Value {
        guard errors.isEmpty else { throw PulseError.graphQL(errors) }
        guard let data else { throw PulseError.emptyBody }
        return data
    }
}

extension GraphQLResponse {
    /// Decodes the response to an operation.
    ///
    /// - Parameter decoder: decodes `data` and nothing else: a key strategy must not change the protocol's own names.
    init(_ response: PulseResponse, using decoder: any ResponseDecoder) throws {
        guard !response.data.isEmpty else { throw PulseError.emptyBody }
        switch GraphQLVerdict(response, accepted: .successful) {
        case .parts: throw PulseError.unsupported("GraphQL: a response in parts, as of @defer and @stream")
        case .foreign(let type): throw UnexpectedMediaType(expected: "GraphQL response", found: type)
        case .errors(let errors): throw PulseError.graphQL(errors)
        case .body, .status: try self.init(GraphQLEnvelope(response.data), using: decoder)
        }
    }

    /// Decodes the response in an event. It may have no data, since others follow.
    init(eventOf text: Data, using decoder: any ResponseDecoder) throws {
        let envelope = try GraphQLEnvelope(text)
        do {
            try self.init(envelope, using: decoder)
        } catch PulseError.graphQL, PulseError.emptyBody {
            self.init(data: nil, errors: envelope.errors, extensions: envelope.extensions)
        }
    }

    /// Decodes the response in an event or a body. Throws ``PulseError/graphQL(_:)`` for errors without data, and
    /// ``PulseError/emptyBody`` for neither.
    init(_ envelope: GraphQLEnvelope, using decoder: any ResponseDecoder) throws {
        errors = envelope.errors
        guard let text = envelope.data else { throw errors.isEmpty ? PulseError.emptyBody : .graphQL(errors) }
        do {
            data = try decoder.decode(Value.self, from: text)
        } catch {
            // The server's errors explain the missing data better.
            throw errors.isEmpty ? error : PulseError.graphQL(errors)
        }
        extensions = envelope.extensions
    }
}
