// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseClient {
    /// Sends an endpoint and gives its value.
    ///
    /// Throws ``PulseError`` and nothing else. Cancelling the calling task cancels the call and its wire at once.
    /// - Parameter options: beat the endpoint's own options, field by field.
    @inlinable
    public func request<E: Endpoint>(
        _ endpoint: E, options: RequestOptions = RequestOptions()
    ) async throws -> E.Response {
        try await response(for: endpoint, options: options).value
    }

    // Inlinable, as `request` is: in the caller's module the type of the value is known, which saves the run-time's
    // look-ups.
    /// Sends an endpoint and gives its value together with the answer it was read from. Errors are as in
    /// ``request(_:options:)``.
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
                throw PulseError(decoding: E.Response.self, error, of: response, as: decoder.contentType)
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

    /// Sends a ready request through the whole chain and gives the answer undecoded.
    ///
    /// Its method, headers and body stand for an endpoint's. So does its timeout, unless it is the 60 seconds that
    /// Foundation gives every request. The configuration's default headers are added under its own. Throws
    /// ``PulseError``, among others ``PulseError/unsupported(_:)`` for a request with an `httpBodyStream`.
    public func rawRequest(
        _ request: URLRequest, options: RequestOptions = RequestOptions()
    ) async throws -> PulseResponse {
        let method = HTTPMethod(rawValue: request.httpMethod ?? "GET")
        let own = options
        var options = options
        // A ready request always has a timeout; Foundation's own default is not one that the caller asked for.
        let timeout = request.timeoutInterval == Self.foundationTimeout ? 0 : request.timeoutInterval
        resolve(&options, idleTimeout: timeout)
        let pipeline = pipeline(for: [], options)
        let call = call(to: request.url?.absoluteString ?? "", nil, method ?? .get, options)
        return try await perform(call, pipeline) {
            try checkParts(own, method ?? .get, isQueueable: false, pipeline)
            guard method != nil else { throw PulseError.invalidRequest(reason: "the method is not a token") }
            return try builder.build(request, call.options)
        } decode: { _, _ in
        }
    }

    private static let foundationTimeout: TimeInterval = 60

    /// Sends an endpoint and gives its outcome, with the error typed. It throws nothing.
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

/// A decoded value and the answer it was read from.
public struct DecodedResponse<Value: Sendable>: Sendable {
    /// The value that the answer's body decoded to.
    public let value: Value
    /// The answer: its status, headers, body and timings.
    public let response: PulseResponse

    /// Pairs a value with its answer, as a stand-in for a client does.
    @inlinable
    public init(value: Value, response: PulseResponse) {
        self.value = value
        self.response = response
    }
}

// MARK: - The way of a request

extension PulseClient {
    /// Reads an accepted answer. The value stays with the closure's owner: so all that follows is free of the value's
    /// type, which saves a call more than its decoder costs.
    @usableFromInline
    typealias Decode = @Sendable (PulseResponse, any ResponseDecoder) throws -> Void

    @usableFromInline
    func send<E: Endpoint>(
        _ endpoint: E, _ options: RequestOptions, delivery: TransportRequest.Delivery? = nil,
        decode: @escaping Decode
    ) async throws -> PulseResponse {
        var options = options
        options.inherit(endpoint.options)
        let own = options
        resolve(&options, idleTimeout: endpoint.timeoutInterval)
        let gate = gate(for: endpoint, &options)
        let path = Result { try endpoint.path }
        let pipeline = pipeline(for: endpoint.plugins, options)
        let call = call(
            to: (try? path.get()) ?? "", E.self, endpoint.method, options, delivery,
            isQueueable: gate != nil)
        return try await perform(
            call, pipeline, gate,
            build: {
                #if DEBUG
                endpointCheck.check(endpoint)
                #endif
                if !own.isEmpty { try checkParts(own, endpoint.method, isQueueable: gate != nil, pipeline) }
                return try builder.build(endpoint, path: path.get(), call.options)
            }, decode: decode)
    }

    /// Builds a call's request and runs it in a task of its own: so the caller, a tag, the deadline or a shutdown can
    /// cancel it.
    func perform(
        _ call: Call, _ pipeline: PluginPipeline, _ gate: OfflineGate? = nil, build: () throws -> BuiltRequest,
        decode: @escaping Decode
    ) async throws -> PulseResponse {
        let ticket = try begin(call)
        // Built here, so that no closure has to carry the parts into the task; the task reports a failure.
        let built = Result { try build() }
        let task = Task.startingNow { try await self.run(built, call, pipeline, gate, decode) }
        let alarm = watch(call, ticket, .task(task))
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        return try await finish(result, of: call, ticket, alarm, through: pipeline)
    }

    /// The whole way of a request, in order: the offline gate, the hops through the chain, validation, decoding.
    private func run(
        _ built: Result<BuiltRequest, any Error>, _ call: Call, _ pipeline: PluginPipeline, _ gate: OfflineGate?,
        _ decode: Decode
    ) async throws -> PulseResponse {
        try Task.checkCancellation()
        var request = try built.get()
        request.writeIdempotencyKey(of: call)
        let response =
            if let gate {
                try await gate.send(request, for: call, through: pipeline, follower)
            } else {
                try await follower.send(request, for: call, through: pipeline)
            }
        do {
            try Self.accept(response, of: call, decode)
            return response
        } catch let error as PulseError
            where error.isOfTheBody && response.origin.isStored && request.mayStartAgain
            && call.options.cache != .onlyIfCached
        {
            // What the cache keeps may be damaged, or older than the app's types: the server is asked, once. Not if a
            // POST came before it, which nobody asked to repeat.
            return try await reload(request, for: call, through: pipeline, decode)
        }
    }

    private func reload(
        _ request: BuiltRequest, for call: Call, through pipeline: PluginPipeline, _ decode: Decode
    ) async throws -> PulseResponse {
        let fresh = try await follower.send(request, for: call, through: pipeline, cache: .reload)
        try Self.accept(fresh, of: call, decode)
        return fresh
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

extension PulseError {
    /// Whether the call could not read the answer's body.
    fileprivate var isOfTheBody: Bool {
        switch kind {
        case .decodingFailed, .emptyBody: true
        default: false
        }
    }
}
