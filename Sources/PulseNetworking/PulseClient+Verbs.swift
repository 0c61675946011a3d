// SPDX-License-Identifier: MIT

public import PulseCore

/// A call of a verb method. The path may carry a query; its type is the route.
struct Verb<Response: Decodable & Sendable>: Endpoint {
    let method: HTTPMethod
    let path: String
    var body: RequestBody = .none
}

/// Calls too small for an endpoint of their own. Each takes a path that may carry a query, and per-call options, and
/// throws ``PulseError``.
extension PulseClient {
    /// `let user: User = try await client.get("/users/1")`
    public func get<Value: Decodable & Sendable>(
        _ path: String, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(Verb<Value>(method: .get, path: path), options: options)
    }

    /// The answer of a HEAD: status and headers. Validated like any other.
    public func head(_ path: String, options: RequestOptions = RequestOptions()) async throws -> PulseResponse {
        try await rawRequest(Verb<EmptyResponse>(method: .head, path: path), options: options)
    }

    // MARK: POST

    public func post<Value: Decodable & Sendable>(
        _ path: String, body: RequestBody = .none, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(Verb<Value>(method: .post, path: path, body: body), options: options)
    }

    /// `let made: User = try await client.post("/users", body: NewUser(name: "Ada"))`
    public func post<Value: Decodable & Sendable>(
        _ path: String, body: some Encodable & Sendable, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await post(path, body: .json(body), options: options)
    }

    @discardableResult
    public func post(
        _ path: String, body: RequestBody = .none, options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await request(Verb<EmptyResponse>(method: .post, path: path, body: body), options: options)
    }

    @discardableResult
    public func post(
        _ path: String, body: some Encodable & Sendable, options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await post(path, body: .json(body), options: options)
    }

    // MARK: PUT

    public func put<Value: Decodable & Sendable>(
        _ path: String, body: RequestBody = .none, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(Verb<Value>(method: .put, path: path, body: body), options: options)
    }

    public func put<Value: Decodable & Sendable>(
        _ path: String, body: some Encodable & Sendable, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await put(path, body: .json(body), options: options)
    }

    @discardableResult
    public func put(
        _ path: String, body: RequestBody = .none, options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await request(Verb<EmptyResponse>(method: .put, path: path, body: body), options: options)
    }

    @discardableResult
    public func put(
        _ path: String, body: some Encodable & Sendable, options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await put(path, body: .json(body), options: options)
    }

    // MARK: PATCH

    public func patch<Value: Decodable & Sendable>(
        _ path: String, body: RequestBody = .none, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(Verb<Value>(method: .patch, path: path, body: body), options: options)
    }

    public func patch<Value: Decodable & Sendable>(
        _ path: String, body: some Encodable & Sendable, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await patch(path, body: .json(body), options: options)
    }

    @discardableResult
    public func patch(
        _ path: String, body: RequestBody = .none, options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await request(Verb<EmptyResponse>(method: .patch, path: path, body: body), options: options)
    }

    @discardableResult
    public func patch(
        _ path: String, body: some Encodable & Sendable, options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await patch(path, body: .json(body), options: options)
    }

    // MARK: DELETE

    public func delete<Value: Decodable & Sendable>(
        _ path: String, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(Verb<Value>(method: .delete, path: path), options: options)
    }

    @discardableResult
    public func delete(_ path: String, options: RequestOptions = RequestOptions()) async throws -> EmptyResponse {
        try await request(Verb<EmptyResponse>(method: .delete, path: path), options: options)
    }
}
