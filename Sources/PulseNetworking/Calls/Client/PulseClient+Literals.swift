// SPDX-License-Identifier: MIT

public import PulseCore

// Disfavored, so that JSON literals and values of one type resolve to the other verbs. None takes a non-literal target:
// with such an overload, a literal path would be a `String`.
/// Calls with an inline body of values of different types:
/// `try await client.post("/users", body: ["name": name, "age": age])`. See `JSONValue.Literal` for the rules. The
/// other parameters, the results and the errors are those of the verbs with an encoded value.
extension PulseClient {
    /// Sends a POST with these values as JSON and decodes the response.
    @_disfavoredOverload
    public func post<Value: Decodable & Sendable>(
        _ target: PathText, path values: PathValues = [:], body: JSONValue.Literal,
        query: QueryValues = [:], headers: [String: String] = [:], as type: Value.Type = Value.self,
        timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await post(
            target, path: values, body: .json(body), query: query, headers: headers, as: type, timeout: timeout,
            options: options)
    }

    /// Sends a POST with these values as JSON and ignores the body of the response.
    @_disfavoredOverload
    @discardableResult
    public func post(
        _ target: PathText, path values: PathValues = [:], body: JSONValue.Literal,
        query: QueryValues = [:], headers: [String: String] = [:], timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await post(
            target, path: values, body: .json(body), query: query, headers: headers, timeout: timeout, options: options)
    }

    /// Sends a PUT with these values as JSON and decodes the response.
    @_disfavoredOverload
    public func put<Value: Decodable & Sendable>(
        _ target: PathText, path values: PathValues = [:], body: JSONValue.Literal,
        query: QueryValues = [:], headers: [String: String] = [:], as type: Value.Type = Value.self,
        timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await put(
            target, path: values, body: .json(body), query: query, headers: headers, as: type, timeout: timeout,
            options: options)
    }

    /// Sends a PUT with these values as JSON and ignores the body of the response.
    @_disfavoredOverload
    @discardableResult
    public func put(
        _ target: PathText, path values: PathValues = [:], body: JSONValue.Literal,
        query: QueryValues = [:], headers: [String: String] = [:], timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await put(
            target, path: values, body: .json(body), query: query, headers: headers, timeout: timeout, options: options)
    }

    /// Sends a PATCH with these values as JSON and decodes the response.
    @_disfavoredOverload
    public func patch<Value: Decodable & Sendable>(
        _ target: PathText, path values: PathValues = [:], body: JSONValue.Literal,
        query: QueryValues = [:], headers: [String: String] = [:], as type: Value.Type = Value.self,
        timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await patch(
            target, path: values, body: .json(body), query: query, headers: headers, as: type, timeout: timeout,
            options: options)
    }

    /// Sends a PATCH with these values as JSON and ignores the body of the response.
    @_disfavoredOverload
    @discardableResult
    public func patch(
        _ target: PathText, path values: PathValues = [:], body: JSONValue.Literal,
        query: QueryValues = [:], headers: [String: String] = [:], timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await patch(
            target, path: values, body: .json(body), query: query, headers: headers, timeout: timeout, options: options)
    }
}
