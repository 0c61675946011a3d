// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseClient {
    /// Sends an endpoint and gives its value.
    ///
    /// Throws ``PulseError`` and nothing else. Cancelling the calling task cancels the call and its wire at once.
    /// - Parameter options: beat the endpoint's, field by field.
    public func request<E: Endpoint>(_ endpoint: E, options: RequestOptions = RequestOptions()) async throws -> E.Response {
        try await response(for: endpoint, options: options).value
    }

    /// Sends an endpoint and gives its value together with the answer it was read from.
    public func response<E: Endpoint>(
        for endpoint: E, options: RequestOptions = RequestOptions()
    ) async throws -> DecodedResponse<E.Response> {
        try await send(endpoint, options) { try endpoint.decode($0, using: $1) }
    }

    /// Sends an endpoint and gives the answer undecoded. A status that the call does not accept is an error here too;
    /// `acceptedStatuses = .any` hands over every one.
    public func rawRequest<E: Endpoint>(
        _ endpoint: E, options: RequestOptions = RequestOptions()
    ) async throws -> PulseResponse {
        try await send(endpoint, options) { _, _ in () }.response
    }

    /// Sends a ready request through the whole chain. Its method, headers and body stand for an endpoint's; the
    /// configuration's default headers are added under them.
    public func rawRequest(_ request: URLRequest, options: RequestOptions = RequestOptions()) async throws -> PulseResponse {
        let method = HTTPMethod(rawValue: request.httpMethod ?? "GET")
        var options = options
        resolve(&options, idleTimeout: request.timeoutInterval)
        let call = call(to: request.url?.absoluteString ?? "", nil, method ?? .get, options)
        return try await perform(call, links(for: [], options)) {
            guard method != nil else { throw PulseError.invalidRequest(reason: "the method is not a token") }
            return try self.builder.build(request, call.options)
        } decode: { _, _ in
        }.response
    }

    /// Sends an endpoint and gives its outcome, with the error typed.
    public func result<E: Endpoint>(
        of endpoint: E, options: RequestOptions = RequestOptions()
    ) async -> Result<E.Response, PulseError> {
        do {
            return .success(try await request(endpoint, options: options))
        } catch {
            return .failure(PulseError(wrapping: error))
        }
    }
}

/// A value and the answer it was read from.
public struct DecodedResponse<Value: Sendable>: Sendable {
    public let value: Value
    public let response: PulseResponse

    public init(value: Value, response: PulseResponse) {
        self.value = value
        self.response = response
    }
}

// MARK: - The way of a request

extension PulseClient {
    func send<E: Endpoint, Value: Sendable>(
        _ endpoint: E, _ options: RequestOptions, delivery: TransportRequest.Delivery? = nil,
        decode: @escaping @Sendable (PulseResponse, any ResponseDecoder) throws -> Value
    ) async throws -> DecodedResponse<Value> {
        var options = options
        options.inherit(endpoint.options)
        resolve(&options, idleTimeout: endpoint.timeoutInterval)
        if endpoint.isQueueableWhenOffline, configuration.offlineQueuePolicy.isEnabled, options.idempotencyKey == nil {
            options.idempotencyKey = .automatic
        }
        let call = call(to: (try? endpoint.path) ?? "", E.self, endpoint.method, options, delivery)
        let links = links(for: endpoint.plugins, options)
        return try await perform(call, links, build: { try self.builder.build(endpoint, call.options) }, decode: decode)
    }

    /// The whole way of a request, in its order: build, follow the hops through the chain, validate, decode. Around it
    /// stand cancellation, the deadline and the events, see ``run(_:through:_:)``.
    func perform<Value: Sendable>(
        _ call: Call, _ links: PluginChain.Links, build: @escaping @Sendable () throws -> BuiltRequest,
        decode: @escaping @Sendable (PulseResponse, any ResponseDecoder) throws -> Value
    ) async throws -> DecodedResponse<Value> {
        try await run(call, through: links) { [follower] in
            var request = try build()
            request.writeIdempotencyKey(of: call)
            let response = try await follower.send(request, for: call, through: links)
            do {
                return try Self.decoded(response, of: call, by: decode)
            } catch PulseError.decodingFailed where response.origin.isStored {
                // What the cache keeps may be damaged, or older than the app's types: the server decides, once.
                let fresh = try await follower.send(request, for: call, through: links, cache: .reload)
                return try Self.decoded(fresh, of: call, by: decode)
            }
        }
    }

    private static func decoded<Value>(
        _ response: PulseResponse, of call: Call, by decode: (PulseResponse, any ResponseDecoder) throws -> Value
    ) throws -> DecodedResponse<Value> {
        let accepted = call.options.acceptedStatuses ?? .successful
        let clock = call.environment.clock
        if let error = PulseError(validating: response, accepted: accepted, now: clock.now) {
            response.bytes?.cancel()
            throw error
        }
        do {
            return DecodedResponse(value: try decode(response, call.options.decoder ?? .json), response: response)
        } catch {
            throw PulseError(decoding: Value.self, error)
        }
    }
}
