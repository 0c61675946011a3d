// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseClient {
    /// Sends an endpoint and gives its value.
    ///
    /// Throws ``PulseError`` and nothing else. Cancelling the calling task cancels the call and its wire at once.
    /// - Parameter options: beat the endpoint's, field by field.
    @inlinable
    public func request<E: Endpoint>(
        _ endpoint: E, options: RequestOptions = RequestOptions()
    ) async throws -> E.Response {
        try await response(for: endpoint, options: options).value
    }

    /// Sends an endpoint and gives its value together with the answer it was read from.
    // Inlinable, as `request` is: in the caller's module the type of the value is known, which saves the run-time's look-ups.
    @inlinable
    public func response<E: Endpoint>(
        for endpoint: E, options: RequestOptions = RequestOptions()
    ) async throws -> DecodedResponse<E.Response> {
        let slot = Locked<E.Response?>(nil)
        let response = try await send(endpoint, options) { response, decoder in
            do {
                let value = try endpoint.decode(response, using: decoder)
                slot.withLock { $0 = value }
            } catch {
                throw PulseError(decoding: E.Response.self, error)
            }
        }
        guard let value = slot.withLock({ $0 }) else { throw PulseError.emptyBody }
        return DecodedResponse(value: value, response: response)
    }

    /// Sends an endpoint and gives the answer undecoded. A status that the call does not accept is an error here too;
    /// `acceptedStatuses = .any` hands over every one.
    public func rawRequest<E: Endpoint>(
        _ endpoint: E, options: RequestOptions = RequestOptions()
    ) async throws -> PulseResponse {
        try await send(endpoint, options) { _, _ in }
    }

    /// Sends a ready request through the whole chain. Its method, headers and body stand for an endpoint's, and so does
    /// its timeout if it is not the 60 seconds that Foundation gives every request; the configuration's default headers
    /// are added under them.
    public func rawRequest(
        _ request: URLRequest, options: RequestOptions = RequestOptions()
    ) async throws -> PulseResponse {
        let method = HTTPMethod(rawValue: request.httpMethod ?? "GET")
        var options = options
        // A ready request always has a timeout: that of Foundation's making is nobody's wish.
        let timeout = request.timeoutInterval == Self.foundationTimeout ? 0 : request.timeoutInterval
        resolve(&options, idleTimeout: timeout)
        let call = call(to: request.url?.absoluteString ?? "", nil, method ?? .get, options)
        return try await perform(call, links(for: [], options)) {
            guard method != nil else { throw PulseError.invalidRequest(reason: "the method is not a token") }
            return try self.builder.build(request, call.options)
        } decode: { _, _ in
        }
    }

    private static let foundationTimeout: TimeInterval = 60

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

    @inlinable
    public init(value: Value, response: PulseResponse) {
        self.value = value
        self.response = response
    }
}

// MARK: - The way of a request

extension PulseClient {
    /// Reads an accepted answer. What it makes of it stays with whoever gave it: so all that follows is free of the
    /// value's type, which saves a call more than its decoder costs.
    @usableFromInline
    typealias Decode = @Sendable (PulseResponse, any ResponseDecoder) throws -> Void

    @usableFromInline
    func send<E: Endpoint>(
        _ endpoint: E, _ options: RequestOptions, delivery: TransportRequest.Delivery? = nil,
        decode: @escaping Decode
    ) async throws -> PulseResponse {
        var options = options
        options.inherit(endpoint.options)
        resolve(&options, idleTimeout: endpoint.timeoutInterval)
        if endpoint.isQueueableWhenOffline, configuration.offlineQueuePolicy.isEnabled, options.idempotencyKey == nil {
            options.idempotencyKey = .automatic
        }
        let path = Result { try endpoint.path }
        let call = call(to: (try? path.get()) ?? "", E.self, endpoint.method, options, delivery)
        return try await perform(
            call, links(for: endpoint.plugins, options),
            build: { try self.builder.build(endpoint, path: path.get(), call.options) }, decode: decode)
    }

    /// The whole way of a request, in its order: build, follow the hops through the chain, validate, decode. Around it
    /// stand cancellation, the deadline and the events, see ``run(_:through:_:)``.
    func perform(
        _ call: Call, _ links: PluginChain.Links, build: @escaping @Sendable () throws -> BuiltRequest,
        decode: @escaping Decode
    ) async throws -> PulseResponse {
        try await run(call, through: links) {
            try Task.checkCancellation()
            var request = try build()
            request.writeIdempotencyKey(of: call)
            let response = try await self.follower.send(request, for: call, through: links)
            do {
                try Self.accept(response, of: call, decode)
                return response
            } catch PulseError.decodingFailed where response.origin.isStored && request.mayStartAgain {
                // What the cache keeps may be damaged, or older than the app's types: the server decides, once. Not if a
                // POST came before it, which nobody asked to repeat.
                let fresh = try await self.follower.send(request, for: call, through: links, cache: .reload)
                try Self.accept(fresh, of: call, decode)
                return fresh
            }
        }
    }

    private static func accept(_ response: PulseResponse, of call: Call, _ decode: Decode) throws {
        let accepted = call.options.acceptedStatuses ?? .successful
        if let error = PulseError(validating: response, accepted: accepted, now: call.environment.clock.now) {
            response.bytes?.cancel()
            throw error
        }
        try decode(response, call.options.decoder ?? .json)
    }
}
