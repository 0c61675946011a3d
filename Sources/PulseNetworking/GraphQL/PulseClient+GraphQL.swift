// SPDX-License-Identifier: MIT

public import PulseCalls
public import PulseCore

extension PulseClient {
    /// Sends an operation and returns its complete data.
    ///
    /// Throws ``PulseError/graphQL(_:)`` if the response has any error, even next to data; `request` returns both.
    @discardableResult
    @inlinable
    public func graphQL<O: GraphQLOperation>(
        _ operation: O, options: RequestOptions = RequestOptions()
    ) async throws -> O.Value {
        try await request(operation, options: options).value()
    }

    /// Sends a query or mutation given as text and returns its complete data.
    ///
    /// The path is that of the client's ``GraphQLSettings``. Throws ``PulseError/graphQL(_:)`` if the response has any
    /// error, even next to data.
    public func graphQL<Value: Decodable & Sendable>(
        query: String, variables: [String: JSONValue]? = nil, responseType: Value.Type = Value.self,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await graphQL(
            query: query, variables: variables ?? [:], responseType: responseType, options: options)
    }

    /// Sends a query or mutation given as text, with variables for the call's encoder, and returns its complete data.
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

extension PulseClient {
    /// Returns the responses of a subscription, which starts when they are first read.
    ///
    /// The subscriptions of this client at one path share a socket. Its handshakes are separate calls with the client's
    /// plugins. Of the options, only the coders and the tag apply. Header fields, query and plugins of the subscription
    /// are ignored, with a ``NetworkEvent/warning(_:)``.
    public func subscribe<O: GraphQLOperation>(
        _ operation: O, options: RequestOptions = RequestOptions()
    ) -> GraphQLSubscription<O.Value> {
        var options = options
        options.inherit(operation.options)
        let isPlain =
            operation.headers.isEmpty && operation.queryParameters.isEmpty && operation.queryItems.isEmpty
            && operation.plugins.isEmpty
        return subscription(Result { try operation.path.requestPath.text }, options, isPlain: isPlain) {
            GraphQLContent(
                document: O.document, operationName: O.operationName, variables: operation.variables,
                uploads: operation.uploads, extensions: operation.requestExtensions)
        }
    }

    /// Returns the responses of a subscription given as text, like ``subscribe(_:options:)``.
    public func subscribe<Value: Decodable & Sendable>(
        query: String, variables: [String: JSONValue]? = nil, responseType: Value.Type = Value.self,
        options: RequestOptions = RequestOptions()
    ) -> GraphQLSubscription<Value> {
        subscribe(query: query, variables: variables ?? [:], responseType: responseType, options: options)
    }

    /// Returns the responses of a subscription given as text, with variables for the call's encoder.
    public func subscribe<Variables: Encodable & Sendable, Value: Decodable & Sendable>(
        query: String, variables: Variables, responseType: Value.Type = Value.self,
        options: RequestOptions = RequestOptions()
    ) -> GraphQLSubscription<Value> {
        subscription(.success(""), options, isPlain: true) {
            GraphQLContent(
                document: query, operationName: nil, variables: variables, uploads: [], extensions: [:])
        }
    }

    /// - Parameter isPlain: whether the operation sets nothing that the shared socket ignores.
    private func subscription<Value>(
        _ path: Result<String, any Error>, _ options: RequestOptions, isPlain: Bool, _ content: () -> GraphQLContent
    ) -> GraphQLSubscription<Value> {
        let settings = configuration.graphQL
        let own = (try? path.get()) ?? ""
        let hub = features[SubscriptionHubs.self].hub(at: own.isEmpty ? settings.socketPath ?? settings.path : own)
        let (content, encoder) = (content(), options.encoder ?? configuration.encoder)
        let operation = Result { try content.operation() }
        let name = (try? operation.get())?.name
        let feed = SubscriptionFeed(self, hub, name: name, tag: options.tag) {
            _ = try path.get()
            guard try operation.get().kind == .subscription else {
                throw PulseError.invalidRequest(reason: "GraphQL: the operation is no subscription")
            }
            guard content.uploads.isEmpty else {
                throw PulseError.invalidRequest(reason: "GraphQL: a subscription has no uploads")
            }
            return try GraphQLContent.object(content.members(.document, using: encoder))
        }
        if !isPlain || options.headers?.isEmpty == false {
            feed.warn("header fields, query and plugins do not apply to the shared socket")
        }
        return GraphQLSubscription(feed, options.decoder ?? configuration.decoder)
    }
}

/// An operation whose document is not a constant.
struct GraphQLText<Value: Decodable & Sendable>: Endpoint {
    let content: GraphQLContent

    var path: String { "" }
    var method: HTTPMethod { .post }
    var body: RequestBody { .operation(content) }

    func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> GraphQLResponse<Value> {
        try GraphQLResponse(response, using: decoder)
    }
}
