// SPDX-License-Identifier: MIT

/// One entry of the `errors` in a GraphQL response (GraphQL specification, section 7.1.2).
public struct GraphQLError: Error, Sendable, Hashable, Codable {
    /// A location in the query document, counted from 1.
    public struct Location: Sendable, Hashable, Codable {
        /// The line, counted from 1.
        public let line: Int
        /// The column, counted from 1.
        public let column: Int

        /// Creates a location; both numbers count from 1.
        public init(line: Int, column: Int) {
            self.line = line
            self.column = column
        }
    }

    private enum CodingKeys: String, CodingKey {
        case message, locations, path, extensions
    }

    /// The server's error message.
    public let message: String
    /// The locations in the query document that the error refers to; empty if the server gives none.
    public let locations: [Location]
    /// The path in the result that the error refers to: field names and list indices, mixed. Empty if the server gives
    /// none.
    public let path: [JSONValue]
    /// Additional data of the server, such as an error code; empty if there is none.
    public let extensions: [String: JSONValue]

    /// Creates an error, for tests and servers.
    public init(
        message: String, locations: [Location] = [], path: [JSONValue] = [], extensions: [String: JSONValue] = [:]
    ) {
        self.message = message
        self.locations = locations
        self.path = path
        self.extensions = extensions
    }

    /// Decodes an error leniently. A member with an unexpected value becomes empty, even the message, and so hides
    /// neither the error nor the response's data. A bare string becomes the message.
    public init(from decoder: any Decoder) throws {
        let container = try? decoder.container(keyedBy: CodingKeys.self)
        func member<Value: Decodable>(_ key: CodingKeys) -> Value? {
            try? container?.decodeIfPresent(Value.self, forKey: key)
        }
        self.init(
            message: member(.message) ?? (try? decoder.singleValueContainer().decode(String.self)) ?? "",
            locations: member(.locations) ?? [], path: member(.path) ?? [], extensions: member(.extensions) ?? [:])
    }

    /// Encodes an error without its empty members.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(message, forKey: .message)
        if !locations.isEmpty { try container.encode(locations, forKey: .locations) }
        if !path.isEmpty { try container.encode(path, forKey: .path) }
        if !extensions.isEmpty { try container.encode(extensions, forKey: .extensions) }
    }
}

extension GraphQLError: CustomStringConvertible, CustomDebugStringConvertible, LocalizedError {
    /// The message on one line, without secrets and control characters.
    public var description: String {
        message.isEmpty ? "an error without a message" : Redaction.standard.text(message).onOneLine
    }

    public var debugDescription: String { description }

    public var errorDescription: String? { description }
}
