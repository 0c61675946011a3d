// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseClient {
    /// Sends an operation and returns its complete data.
    ///
    /// Throws ``PulseError/graphQL(_:)`` if the response has any error, also beside data; `request` returns both.
    @inlinable
    public func graphQL<O: GraphQLOperation>(
        _ operation: O, options: RequestOptions = RequestOptions()
    ) async throws -> O.Value {
        try await request(operation, options: options).value()
    }

    /// Sends a query or mutation as text and returns its complete data.
    ///
    /// The path is that of the client's ``GraphQLSettings``. Throws ``PulseError/graphQL(_:)`` if the response has any
    /// error, also beside data.
    public func graphQL<Value: Decodable & Sendable>(
        query: String, variables: [String: JSONValue]? = nil, responseType: Value.Type = Value.self,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await graphQL(
            query: query, variables: variables ?? [:], responseType: responseType, options: options)
    }

    /// Sends a query or mutation as text, with variables that the call's encoder writes, and returns its complete data.
    public func graphQL<Variables: Encodable & Sendable, Value: Decodable & Sendable>(
        query: String, variables: Variables, responseType: Value.Type = Value.self,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        let request = GraphQLText<Value>(
            content: GraphQLContent(
                document: query, operationName: nil, variables: variables, uploads: [], extensions: [:]))
        return try await self.request(request, options: options).value()
    }
}

/// An operation whose document is no constant.
struct GraphQLText<Value: Decodable & Sendable>: Endpoint {
    let content: GraphQLContent

    var path: String { "" }
    var method: HTTPMethod { .post }
    var body: RequestBody { .operation(content) }

    func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> GraphQLResponse<Value> {
        try GraphQLResponse(response, using: decoder)
    }
}
