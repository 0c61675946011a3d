// SPDX-License-Identifier: MIT

public import PulseCore

/// The endpoint of one call by a verb method. Its path may carry a query.
struct Verb<Response: Decodable & Sendable>: Endpoint {
    let method: HTTPMethod
    let path: String
    var body: RequestBody = .none

    /// The route is the method and the type of the result, `GET User`: there may be as many paths as there are users.
    var options: RequestOptions {
        RequestOptions().with(
            \.route, value: Response.self == EmptyResponse.self ? method.rawValue : "\(method) \(Response.self)")
    }
}

/// Calls too small for an endpoint of their own. Each takes a path that may carry a query, and per-call options, and
/// throws ``PulseError``.
extension PulseClient {
    /// Sends a GET and decodes the answer: `let user: User = try await client.get("/users/1")`.
    ///
    /// The path may carry a query. Options beat the configuration's, field by field. Throws ``PulseError`` and nothing
    /// else.
    public func get<Value: Decodable & Sendable>(
        _ path: String, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(Verb<Value>(method: .get, path: path), options: options)
    }

    /// Sends a HEAD and gives the answer, which has a status and headers but no body.
    ///
    /// A status outside 2xx is an error, as with every verb, unless `options.acceptedStatuses` takes it.
    public func head(_ path: String, options: RequestOptions = RequestOptions()) async throws -> PulseResponse {
        try await rawRequest(Verb<EmptyResponse>(method: .head, path: path), options: options)
    }

    // MARK: POST

    /// Sends a POST with that body, or none, and decodes the answer. Path, options and errors are as in
    /// ``get(_:options:)``.
    ///
    /// It is sent again only with an idempotency key, or if nothing of it had left (RFC 9110, section 9.2.2).
    public func post<Value: Decodable & Sendable>(
        _ path: String, body: RequestBody = .none, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(Verb<Value>(method: .post, path: path, body: body), options: options)
    }

    /// Sends a POST with an encoded value and decodes the answer:
    /// `let made: User = try await client.post("/users", body: NewUser(name: "Ada"))`.
    ///
    /// The call's encoder makes the body, JSON by default; if it fails, ``PulseError/encodingFailed(underlying:)`` is
    /// thrown and nothing is sent.
    public func post<Value: Decodable & Sendable>(
        _ path: String, body: some Encodable & Sendable, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await post(path, body: .json(body), options: options)
    }

    /// Sends a POST with that body, or none, and ignores the body of the answer. A status that is not accepted is an
    /// error.
    @discardableResult
    public func post(
        _ path: String, body: RequestBody = .none, options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await request(Verb<EmptyResponse>(method: .post, path: path, body: body), options: options)
    }

    /// Sends a POST with an encoded value and ignores the body of the answer. A status that is not accepted is an
    /// error.
    @discardableResult
    public func post(
        _ path: String, body: some Encodable & Sendable, options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await post(path, body: .json(body), options: options)
    }

    // MARK: PUT

    /// Sends a PUT with that body, or none, and decodes the answer. Path, options and errors are as in
    /// ``get(_:options:)``.
    public func put<Value: Decodable & Sendable>(
        _ path: String, body: RequestBody = .none, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(Verb<Value>(method: .put, path: path, body: body), options: options)
    }

    /// Sends a PUT with an encoded value, JSON by default, and decodes the answer.
    public func put<Value: Decodable & Sendable>(
        _ path: String, body: some Encodable & Sendable, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await put(path, body: .json(body), options: options)
    }

    /// Sends a PUT with that body, or none, and ignores the body of the answer. A status that is not accepted is an
    /// error.
    @discardableResult
    public func put(
        _ path: String, body: RequestBody = .none, options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await request(Verb<EmptyResponse>(method: .put, path: path, body: body), options: options)
    }

    /// Sends a PUT with an encoded value and ignores the body of the answer. A status that is not accepted is an error.
    @discardableResult
    public func put(
        _ path: String, body: some Encodable & Sendable, options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await put(path, body: .json(body), options: options)
    }

    // MARK: PATCH

    /// Sends a PATCH with that body, or none, and decodes the answer. Path, options and errors are as in
    /// ``get(_:options:)``.
    ///
    /// It is sent again only with an idempotency key, or if nothing of it had left (RFC 9110, section 9.2.2).
    public func patch<Value: Decodable & Sendable>(
        _ path: String, body: RequestBody = .none, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(Verb<Value>(method: .patch, path: path, body: body), options: options)
    }

    /// Sends a PATCH with an encoded value, JSON by default, and decodes the answer.
    public func patch<Value: Decodable & Sendable>(
        _ path: String, body: some Encodable & Sendable, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await patch(path, body: .json(body), options: options)
    }

    /// Sends a PATCH with that body, or none, and ignores the body of the answer. A status that is not accepted is an
    /// error.
    @discardableResult
    public func patch(
        _ path: String, body: RequestBody = .none, options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await request(Verb<EmptyResponse>(method: .patch, path: path, body: body), options: options)
    }

    /// Sends a PATCH with an encoded value and ignores the body of the answer. A status that is not accepted is an
    /// error.
    @discardableResult
    public func patch(
        _ path: String, body: some Encodable & Sendable, options: RequestOptions = RequestOptions()
    ) async throws -> EmptyResponse {
        try await patch(path, body: .json(body), options: options)
    }

    // MARK: DELETE

    /// Sends a DELETE without a body and decodes the answer. Path, options and errors are as in ``get(_:options:)``.
    public func delete<Value: Decodable & Sendable>(
        _ path: String, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await request(Verb<Value>(method: .delete, path: path), options: options)
    }

    /// Sends a DELETE without a body and ignores the body of the answer. A status that is not accepted is an error.
    @discardableResult
    public func delete(_ path: String, options: RequestOptions = RequestOptions()) async throws -> EmptyResponse {
        try await request(Verb<EmptyResponse>(method: .delete, path: path), options: options)
    }
}
