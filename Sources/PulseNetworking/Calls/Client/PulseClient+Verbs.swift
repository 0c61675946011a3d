// SPDX-License-Identifier: MIT

public import PulseCore

/// Calls that need no endpoint type.
///
/// The target is a literal path whose interpolations are raw values: `client.get("/users/\(id)", as: User.self)`. Each
/// is encoded as one segment or a part of one; see `PathText`. A `String` or a `URL` is used as it is. Each method
/// throws only ``PulseError``. The type of the result is inferred, `let user: User = try await client.get("/users/1")`,
/// or named, `let user = try await client.get("/users/1", as: User.self)`.
///
/// - `path` fills the placeholders of a template: `client.get("/users/{id}", path: ["id": id], as: User.self)`. Each
///   value is encoded as one segment. A placeholder without a value is an error in a literal.
/// - `query` is encoded, sorted by name, and appended to the query of the path. A nil value adds nothing.
/// - `headers`, `timeout` and `options` override those of the configuration, field by field. `timeout` is the idle
///   timeout: seconds without a byte sent or received.
extension PulseClient {
    /// Raw values by name, for the placeholders of a path template.
    public typealias PathValues = [String: any CustomStringConvertible & Sendable]
    /// Raw values by name, for a query; nil adds nothing.
    public typealias QueryValues = [String: (any CustomStringConvertible & Sendable)?]

    /// Sends a GET and decodes the response: `let user: User = try await client.get("/users/\(id)")`.
    ///
    /// The path may have a query. The options override the configuration's, field by field. Throws only
    /// ``PulseError``.
    public func get<Value: Decodable & Sendable>(
        _ target: PathText, path values: PathValues = [:], query: QueryValues = [:],
        headers: [String: String] = [:], as type: Value.Type = Value.self, timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(
            Verb<Value>(.get, target, values, query: query, headers: headers, timeout: timeout), options: options)
    }

    /// Sends a HEAD and returns the response, which has a status and headers but no body.
    ///
    /// A status outside 2xx is an error, as with every verb, unless `options.acceptedStatuses` accepts it.
    public func head(
        _ target: PathText, path values: PathValues = [:], query: QueryValues = [:],
        headers: [String: String] = [:], timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> PulseResponse {
        try await rawRequest(
            Verb<EmptyResponse>(.head, target, values, query: query, headers: headers, timeout: timeout),
            options: options)
    }

    /// Sends a request with any method and returns the decoded value with its response, which has the status and the
    /// headers: `let users = try await client.response(for: .get, "/users", as: [User].self)`.
    ///
    /// The parameters and the errors are those of `get`.
    public func response<Value: Decodable & Sendable>(
        for method: HTTPMethod, _ target: PathText, path values: PathValues = [:],
        body: RequestBody = .none, query: QueryValues = [:], headers: [String: String] = [:],
        as type: Value.Type = Value.self, timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> DecodedResponse<Value> {
        try await response(
            for: Verb<Value>(method, target, values, query: query, headers: headers, timeout: timeout, body),
            options: options)
    }

    /// Sends a request with any method and an encoded value, and returns the decoded value with its response:
    /// `let made = try await client.response(for: .post, "/users", body: NewUser(name: "Ada"), as: User.self)`.
    public func response<Value: Decodable & Sendable>(
        for method: HTTPMethod, _ target: PathText, path values: PathValues = [:],
        body: some Encodable & Sendable, query: QueryValues = [:], headers: [String: String] = [:],
        as type: Value.Type = Value.self, timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> DecodedResponse<Value> {
        try await response(
            for: Verb<Value>(method, target, values, query: query, headers: headers, timeout: timeout, .json(body)),
            options: options)
    }

    // MARK: POST

    /// Sends a POST with an optional body and decodes the response. The other parameters and the errors are those of
    /// `get`.
    ///
    /// The request is retried only if it has an idempotency key or was never sent (RFC 9110, section 9.2.2).
    public func post<Value: Decodable & Sendable>(
        _ target: PathText, path values: PathValues = [:], body: RequestBody = .none,
        query: QueryValues = [:], headers: [String: String] = [:], as type: Value.Type = Value.self,
        timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(
            Verb<Value>(.post, target, values, query: query, headers: headers, timeout: timeout, body),
            options: options)
    }

    /// Sends a POST with an encoded value and decodes the response:
    /// `let made: User = try await client.post("/users", body: NewUser(name: "Ada"))`.
    ///
    /// The call's encoder creates the body, JSON by default. If it fails, the call throws
    /// ``PulseError/encodingFailed(underlying:)`` and sends nothing.
    public func post<Value: Decodable & Sendable>(
        _ target: PathText, path values: PathValues = [:], body: some Encodable & Sendable,
        query: QueryValues = [:], headers: [String: String] = [:], as type: Value.Type = Value.self,
        timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(
            Verb<Value>(.post, target, values, query: query, headers: headers, timeout: timeout, .json(body)),
            options: options)
    }

    /// Sends a POST with an optional body and ignores the body of the response. A status that is not accepted is an
    /// error.
    @discardableResult
    public func post(
        _ target: PathText, path values: PathValues = [:], body: RequestBody = .none,
        query: QueryValues = [:], headers: [String: String] = [:], timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await request(
            Verb<EmptyResponse>(.post, target, values, query: query, headers: headers, timeout: timeout, body),
            options: options)
    }

    /// Sends a POST with an encoded value and ignores the body of the response. A status that is not accepted is an
    /// error.
    @discardableResult
    public func post(
        _ target: PathText, path values: PathValues = [:], body: some Encodable & Sendable,
        query: QueryValues = [:], headers: [String: String] = [:], timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await request(
            Verb<EmptyResponse>(.post, target, values, query: query, headers: headers, timeout: timeout, .json(body)),
            options: options)
    }

    // MARK: PUT

    /// Sends a PUT with an optional body and decodes the response. The other parameters and the errors are those of
    /// `get`.
    public func put<Value: Decodable & Sendable>(
        _ target: PathText, path values: PathValues = [:], body: RequestBody = .none,
        query: QueryValues = [:], headers: [String: String] = [:], as type: Value.Type = Value.self,
        timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(
            Verb<Value>(.put, target, values, query: query, headers: headers, timeout: timeout, body), options: options)
    }

    /// Sends a PUT with an encoded value and decodes the response. The call's encoder creates the body,
    /// JSON by default.
    public func put<Value: Decodable & Sendable>(
        _ target: PathText, path values: PathValues = [:], body: some Encodable & Sendable,
        query: QueryValues = [:], headers: [String: String] = [:], as type: Value.Type = Value.self,
        timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(
            Verb<Value>(.put, target, values, query: query, headers: headers, timeout: timeout, .json(body)),
            options: options)
    }

    /// Sends a PUT with an optional body and ignores the body of the response. A status that is not accepted is an
    /// error.
    @discardableResult
    public func put(
        _ target: PathText, path values: PathValues = [:], body: RequestBody = .none,
        query: QueryValues = [:], headers: [String: String] = [:], timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await request(
            Verb<EmptyResponse>(.put, target, values, query: query, headers: headers, timeout: timeout, body),
            options: options)
    }

    /// Sends a PUT with an encoded value and ignores the body of the response. A status that is not accepted is an
    /// error.
    @discardableResult
    public func put(
        _ target: PathText, path values: PathValues = [:], body: some Encodable & Sendable,
        query: QueryValues = [:], headers: [String: String] = [:], timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await request(
            Verb<EmptyResponse>(.put, target, values, query: query, headers: headers, timeout: timeout, .json(body)),
            options: options)
    }

    // MARK: PATCH

    /// Sends a PATCH with an optional body and decodes the response. The other parameters and the errors are those of
    /// `get`.
    ///
    /// The request is retried only if it has an idempotency key or was never sent (RFC 9110, section 9.2.2).
    public func patch<Value: Decodable & Sendable>(
        _ target: PathText, path values: PathValues = [:], body: RequestBody = .none,
        query: QueryValues = [:], headers: [String: String] = [:], as type: Value.Type = Value.self,
        timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(
            Verb<Value>(.patch, target, values, query: query, headers: headers, timeout: timeout, body),
            options: options)
    }

    /// Sends a PATCH with an encoded value and decodes the response. The call's encoder creates the body,
    /// JSON by default.
    public func patch<Value: Decodable & Sendable>(
        _ target: PathText, path values: PathValues = [:], body: some Encodable & Sendable,
        query: QueryValues = [:], headers: [String: String] = [:], as type: Value.Type = Value.self,
        timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(
            Verb<Value>(.patch, target, values, query: query, headers: headers, timeout: timeout, .json(body)),
            options: options)
    }

    /// Sends a PATCH with an optional body and ignores the body of the response. A status that is not accepted is an
    /// error.
    @discardableResult
    public func patch(
        _ target: PathText, path values: PathValues = [:], body: RequestBody = .none,
        query: QueryValues = [:], headers: [String: String] = [:], timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await request(
            Verb<EmptyResponse>(.patch, target, values, query: query, headers: headers, timeout: timeout, body),
            options: options)
    }

    /// Sends a PATCH with an encoded value and ignores the body of the response. A status that is not accepted is an
    /// error.
    @discardableResult
    public func patch(
        _ target: PathText, path values: PathValues = [:], body: some Encodable & Sendable,
        query: QueryValues = [:], headers: [String: String] = [:], timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await request(
            Verb<EmptyResponse>(.patch, target, values, query: query, headers: headers, timeout: timeout, .json(body)),
            options: options)
    }

    // MARK: DELETE

    /// Sends a DELETE without a body and decodes the response. The parameters and errors are those of
    /// `get`.
    public func delete<Value: Decodable & Sendable>(
        _ target: PathText, path values: PathValues = [:], query: QueryValues = [:],
        headers: [String: String] = [:], as type: Value.Type = Value.self, timeout: TimeInterval? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(
            Verb<Value>(.delete, target, values, query: query, headers: headers, timeout: timeout), options: options)
    }

    /// Sends a DELETE without a body and ignores the body of the response. A status that is not accepted is an error.
    @discardableResult
    public func delete(
        _ target: PathText, path values: PathValues = [:], query: QueryValues = [:],
        headers: [String: String] = [:], timeout: TimeInterval? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await request(
            Verb<EmptyResponse>(.delete, target, values, query: query, headers: headers, timeout: timeout),
            options: options)
    }
}
