// SPDX-License-Identifier: MIT

public import PulseCore

// Disfavored, so that a literal with interpolations is a `PathText`, which encodes them.
/// Calls to a target that is not a literal: a `String`, which is used as it is, a `URL`, a path template or a custom
/// target. The other parameters, the results and the errors are those of the verbs with a literal path.
extension PulseClient {
    /// Sends a GET to the target and decodes the response.
    @_disfavoredOverload
    public func get<Value: Decodable & Sendable>(
        _ target: some RequestTarget, path values: PathValues = [:], query: QueryValues = [:],
        headers: [String: String] = [:], as type: Value.Type = Value.self, timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await get(
            target.requestPath, path: values, query: query, headers: headers, as: type, timeout: timeout,
            options: options)
    }

    /// Sends a HEAD to the target and returns the response.
    @_disfavoredOverload
    public func head(
        _ target: some RequestTarget, path values: PathValues = [:], query: QueryValues = [:],
        headers: [String: String] = [:], timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> PulseResponse {
        try await head(
            target.requestPath, path: values, query: query, headers: headers, timeout: timeout, options: options)
    }

    /// Sends a request with any method to the target and returns the decoded value with its response.
    @_disfavoredOverload
    public func response<Value: Decodable & Sendable>(
        for method: HTTPMethod, _ target: some RequestTarget, path values: PathValues = [:],
        body: RequestBody = .none, query: QueryValues = [:], headers: [String: String] = [:],
        as type: Value.Type = Value.self, timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> DecodedResponse<Value> {
        try await response(
            for: method, target.requestPath, path: values, body: body, query: query, headers: headers, as: type,
            timeout: timeout, options: options)
    }

    /// Sends a request with any method and an encoded value to the target and returns the decoded value with its
    /// response.
    @_disfavoredOverload
    public func response<Value: Decodable & Sendable>(
        for method: HTTPMethod, _ target: some RequestTarget, path values: PathValues = [:],
        body: some Encodable & Sendable, query: QueryValues = [:], headers: [String: String] = [:],
        as type: Value.Type = Value.self, timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> DecodedResponse<Value> {
        try await response(
            for: method, target.requestPath, path: values, body: body, query: query, headers: headers, as: type,
            timeout: timeout, options: options)
    }

    /// Sends a POST with an optional body to the target and decodes the response.
    @_disfavoredOverload
    public func post<Value: Decodable & Sendable>(
        _ target: some RequestTarget, path values: PathValues = [:], body: RequestBody = .none,
        query: QueryValues = [:], headers: [String: String] = [:], as type: Value.Type = Value.self,
        timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await post(
            target.requestPath, path: values, body: body, query: query, headers: headers, as: type, timeout: timeout,
            options: options)
    }

    /// Sends a POST with an encoded value to the target and decodes the response.
    @_disfavoredOverload
    public func post<Value: Decodable & Sendable>(
        _ target: some RequestTarget, path values: PathValues = [:], body: some Encodable & Sendable,
        query: QueryValues = [:], headers: [String: String] = [:], as type: Value.Type = Value.self,
        timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await post(
            target.requestPath, path: values, body: body, query: query, headers: headers, as: type, timeout: timeout,
            options: options)
    }

    /// Sends a POST with an optional body to the target and ignores the body of the response.
    @_disfavoredOverload
    @discardableResult
    public func post(
        _ target: some RequestTarget, path values: PathValues = [:], body: RequestBody = .none,
        query: QueryValues = [:], headers: [String: String] = [:], timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await post(
            target.requestPath, path: values, body: body, query: query, headers: headers, timeout: timeout,
            options: options)
    }

    /// Sends a POST with an encoded value to the target and ignores the body of the response.
    @_disfavoredOverload
    @discardableResult
    public func post(
        _ target: some RequestTarget, path values: PathValues = [:], body: some Encodable & Sendable,
        query: QueryValues = [:], headers: [String: String] = [:], timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await post(
            target.requestPath, path: values, body: body, query: query, headers: headers, timeout: timeout,
            options: options)
    }

    /// Sends a PUT with an optional body to the target and decodes the response.
    @_disfavoredOverload
    public func put<Value: Decodable & Sendable>(
        _ target: some RequestTarget, path values: PathValues = [:], body: RequestBody = .none,
        query: QueryValues = [:], headers: [String: String] = [:], as type: Value.Type = Value.self,
        timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await put(
            target.requestPath, path: values, body: body, query: query, headers: headers, as: type, timeout: timeout,
            options: options)
    }

    /// Sends a PUT with an encoded value to the target and decodes the response.
    @_disfavoredOverload
    public func put<Value: Decodable & Sendable>(
        _ target: some RequestTarget, path values: PathValues = [:], body: some Encodable & Sendable,
        query: QueryValues = [:], headers: [String: String] = [:], as type: Value.Type = Value.self,
        timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await put(
            target.requestPath, path: values, body: body, query: query, headers: headers, as: type, timeout: timeout,
            options: options)
    }

    /// Sends a PUT with an optional body to the target and ignores the body of the response.
    @_disfavoredOverload
    @discardableResult
    public func put(
        _ target: some RequestTarget, path values: PathValues = [:], body: RequestBody = .none,
        query: QueryValues = [:], headers: [String: String] = [:], timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await put(
            target.requestPath, path: values, body: body, query: query, headers: headers, timeout: timeout,
            options: options)
    }

    /// Sends a PUT with an encoded value to the target and ignores the body of the response.
    @_disfavoredOverload
    @discardableResult
    public func put(
        _ target: some RequestTarget, path values: PathValues = [:], body: some Encodable & Sendable,
        query: QueryValues = [:], headers: [String: String] = [:], timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await put(
            target.requestPath, path: values, body: body, query: query, headers: headers, timeout: timeout,
            options: options)
    }

    /// Sends a PATCH with an optional body to the target and decodes the response.
    @_disfavoredOverload
    public func patch<Value: Decodable & Sendable>(
        _ target: some RequestTarget, path values: PathValues = [:], body: RequestBody = .none,
        query: QueryValues = [:], headers: [String: String] = [:], as type: Value.Type = Value.self,
        timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await patch(
            target.requestPath, path: values, body: body, query: query, headers: headers, as: type, timeout: timeout,
            options: options)
    }

    /// Sends a PATCH with an encoded value to the target and decodes the response.
    @_disfavoredOverload
    public func patch<Value: Decodable & Sendable>(
        _ target: some RequestTarget, path values: PathValues = [:], body: some Encodable & Sendable,
        query: QueryValues = [:], headers: [String: String] = [:], as type: Value.Type = Value.self,
        timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await patch(
            target.requestPath, path: values, body: body, query: query, headers: headers, as: type, timeout: timeout,
            options: options)
    }

    /// Sends a PATCH with an optional body to the target and ignores the body of the response.
    @_disfavoredOverload
    @discardableResult
    public func patch(
        _ target: some RequestTarget, path values: PathValues = [:], body: RequestBody = .none,
        query: QueryValues = [:], headers: [String: String] = [:], timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await patch(
            target.requestPath, path: values, body: body, query: query, headers: headers, timeout: timeout,
            options: options)
    }

    /// Sends a PATCH with an encoded value to the target and ignores the body of the response.
    @_disfavoredOverload
    @discardableResult
    public func patch(
        _ target: some RequestTarget, path values: PathValues = [:], body: some Encodable & Sendable,
        query: QueryValues = [:], headers: [String: String] = [:], timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await patch(
            target.requestPath, path: values, body: body, query: query, headers: headers, timeout: timeout,
            options: options)
    }

    /// Sends a DELETE to the target and decodes the response.
    @_disfavoredOverload
    public func delete<Value: Decodable & Sendable>(
        _ target: some RequestTarget, path values: PathValues = [:], query: QueryValues = [:],
        headers: [String: String] = [:], as type: Value.Type = Value.self, timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await delete(
            target.requestPath, path: values, query: query, headers: headers, as: type, timeout: timeout,
            options: options)
    }

    /// Sends a DELETE to the target and ignores the body of the response.
    @_disfavoredOverload
    @discardableResult
    public func delete(
        _ target: some RequestTarget, path values: PathValues = [:], query: QueryValues = [:],
        headers: [String: String] = [:], timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await delete(
            target.requestPath, path: values, query: query, headers: headers, timeout: timeout, options: options)
    }
}
