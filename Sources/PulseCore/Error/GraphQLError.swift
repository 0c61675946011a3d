// SPDX-License-Identifier: MIT

/// One entry of a GraphQL response's `errors` (GraphQL specification, section 7.1.2).
public struct GraphQLError: Error, Sendable, Hashable, Codable {
    /// A place in the query document, counted from 1.
    public struct Location: Sendable, Hashable, Codable {
        public let line: Int
        public let column: Int

        public init(line: Int, column: Int) {
            self.line = line
            self.column = column
        }
    }

    public let message: String
    public let locations: [Location]
    /// Where in the result the error belongs: field names and list indices, mixed.
    public let path: [JSONValue]
    public let extensions: [String: JSONValue]

    public init(
        message: String, locations: [Location] = [], path: [JSONValue] = [], extensions: [String: JSONValue] = [:]
    ) {
        self.message = message
        self.locations = locations
        self.path = path
        self.extensions = extensions
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        message = try container.decode(String.self, forKey: .message)
        locations = try container.decodeIfPresent([Location].self, forKey: .locations) ?? []
        path = try container.decodeIfPresent([JSONValue].self, forKey: .path) ?? []
        extensions = try container.decodeIfPresent([String: JSONValue].self, forKey: .extensions) ?? [:]
    }
}
