// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseClient {
    /// Sends an endpoint and returns the decoded value.
    ///
    /// Throws only ``PulseError``. Cancelling the calling task cancels the call and its network request at once. The
    /// value may be ignored: `try await client.request(SaveNote(text: "Buy tea"))`.
    /// - Parameter options: the options of this call. Each option that is set overrides that of the endpoint.
    @discardableResult
    @inlinable
    public func request<E: Endpoint>(
        _ endpoint: E, options: RequestOptions = RequestOptions()
    ) async throws -> E.Response {
        try await response(for: endpoint, options: options).value
    }

    // Inlinable, like `request`: the caller's module knows the type of the value, which saves lookups at run time.
    /// Sends an endpoint and returns the decoded value together with its response. Errors are those of
    /// ``request(_:options:)``.
    @inlinable
    public func response<E: Endpoint>(
        for endpoint: E, options: RequestOptions = RequestOptions()
    ) async throws -> DecodedResponse<E.Response> {
        try await decoded(endpoint) { try await send(endpoint, options, decode: $0) }
    }

    /// Sends an endpoint with `send`, and decodes the value.
    @inlinable
    func decoded<E: Endpoint>(
        _ endpoint: E, by send: (@escaping Decode) async throws -> PulseResponse
    ) async throws -> DecodedResponse<E.Response> {
        let slot = Locked<E.Response?>(nil)
        let response = try await send { response, decoder in
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

    /// Sends an endpoint and returns the undecoded response. A status that the call does not accept is an error here
    /// too; `acceptedStatuses = .any` accepts every status.
    @discardableResult
    public func rawRequest<E: Endpoint>(
        _ endpoint: E, options: RequestOptions = RequestOptions()
    ) async throws -> PulseResponse {
        try await send(endpoint, options) { _, _ in }
    }

    /// Sends a ready request through the whole chain and returns the undecoded response.
    ///
    /// The request's method, headers and body take the place of an endpoint's. So does its timeout, unless it is
    /// Foundation's default of 60 seconds. The request's headers override the configuration's default headers. Throws
    /// ``PulseError``, among others ``PulseError/unsupported(_:)`` for a request with an `httpBodyStream`.
    @discardableResult
    public func rawRequest(
        _ request: URLRequest, options: RequestOptions = RequestOptions()
    ) async throws -> PulseResponse {
        let method = HTTPMethod(rawValue: request.httpMethod ?? "GET")
        let own = options
        var options = options
        // A ready request always has a timeout. The caller did not ask for Foundation's default.
        let timeout = request.timeoutInterval == Self.foundationTimeout ? 0 : request.timeoutInterval
        resolve(&options, idleTimeout: timeout)
        let pipeline = pipeline(for: [], options)
        let call = call(to: request.url?.absoluteString ?? "", nil, method ?? .get, options)
        return try await perform(call, pipeline, .response(nil) { _, _ in }) {
            try checkParts(own, method ?? .get, isQueueable: false, pipeline)
            guard method != nil else { throw PulseError.invalidRequest(reason: "the method is not a token") }
            return try builder.build(request, call.options)
        }
    }

    private static let foundationTimeout: TimeInterval = 60

    /// Sends an endpoint and returns the outcome with a typed error. It does not throw.
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

// MARK: - The path of a request

extension PulseClient {
    /// Decodes an accepted response. The closure keeps the value, so the code below is not generic over its type. This
    /// saves more time per call than the decoder costs.
    @usableFromInline
    typealias Decode = @Sendable (PulseResponse, any ResponseDecoder) throws -> Void

    @usableFromInline
    func send<E: Endpoint>(
        _ endpoint: E, _ options: RequestOptions, decode: @escaping Decode
    ) async throws -> PulseResponse {
        try await send(endpoint, options, delivery: nil, decode: decode)
    }

    /// Sends an endpoint.
    ///
    /// - Parameter delivery: nil for a buffered body.
    /// - Parameter accept: the `Accept` of a request that does not set it; nil for the media type of the decoder.
    /// - Parameter isForeign: whether the URL is the choice of another server, so that no secret may go there although
    ///   the client has no home.
    /// - Parameter inspect: may refuse the built request, before anything is sent.
    /// - Parameter upload: sends the request in parts; nil to send it as it is.
    /// - Parameter download: stores the response in a file; nil to return it.
    /// - Parameter background: stands in for the client's transport; nil for that.
    func send<E: Endpoint>(
        _ endpoint: E, _ options: RequestOptions, delivery: TransportRequest.Delivery?, accept: String? = nil,
        isForeign: Bool = false, inspect: (BuiltRequest) throws -> Void = { _ in }, upload: TusRun? = nil,
        download: DownloadRun? = nil, background: BackgroundTransport? = nil, decode: @escaping Decode
    ) async throws -> PulseResponse {
        var options = options
        options.inherit(endpoint.options)
        let isTransfer = upload != nil || download != nil
        // The progress of a transfer is that of its file, not of its requests.
        if isTransfer, options.progress != nil { options.progress = nil }
        let own = options
        resolve(&options, idleTimeout: endpoint.timeoutInterval)
        // The body of a stream cannot arrive later.
        let gate = delivery == .streamed || isTransfer || background != nil ? nil : gate(for: endpoint, &options)
        let body = endpoint.body
        let graphQL = body.graphQL.map { GraphQLPlan($0, configuration.graphQL) }
        if let name = graphQL?.name, options.route == nil { options.route = name }
        let path = Result { try endpoint.path.requestPath.text }.map { graphQL?.path($0) ?? $0 }
        let persisting = delivery == nil ? graphQL?.persisting(persistedQueries) : nil
        let plugins = persisting.map { [$0] + endpoint.plugins } ?? endpoint.plugins
        let environment = background.map { self.environment(for: $0) } ?? environment
        let pipeline =
            background.map { self.pipeline(for: plugins, retry: options.retry, wire: wire(over: $0, environment)) }
            ?? self.pipeline(for: plugins, options)
        let call = call(
            to: (try? path.get()) ?? "", E.self, endpoint.method, options, delivery,
            isQueueable: gate != nil, environment: environment)
        graphQL?.mark(call)
        return try await perform(
            call, pipeline,
            download.map { .download($0) } ?? upload.map { .upload($0, decode) } ?? .response(gate, decode),
            build: {
                #if DEBUG
                endpointCheck.check(endpoint)
                #endif
                if !own.isEmpty { try checkParts(own, endpoint.method, isQueueable: gate != nil, pipeline) }
                try graphQL?.check()
                let request = try builder.build(
                    endpoint, path: path.get(), body, call.options, accept: accept, isForeign: isForeign)
                try inspect(request)
                return request
            })
    }

    /// What a call does with its request.
    enum Way: Sendable {
        /// Sends it, past the offline gate if there is one, and decodes the response.
        case response(OfflineGate?, Decode)
        case download(DownloadRun)
        case upload(TusRun, Decode)
    }

    /// Builds a call's request and runs it in a task of its own, which the caller, a tag, the deadline or a shutdown
    /// can cancel.
    func perform(
        _ call: Call, _ pipeline: PluginPipeline, _ way: Way, build: () throws -> BuiltRequest
    ) async throws -> PulseResponse {
        let active = ActiveCall(call, pipeline, in: calls)
        try active.begin()
        // Built here, so that no closure has to capture the parts for the task. The task reports a failed build.
        let built = Result { try build() }
        let work = Task.startingNow { try await self.run(built, call, pipeline, way) }
        return try await active.response(of: work, deadlines)
    }

    /// The whole path of a request, in order: the offline gate, the hops through the chain, validation, decoding.
    private func run(
        _ built: Result<BuiltRequest, any Error>, _ call: Call, _ pipeline: PluginPipeline, _ way: Way
    ) async throws -> PulseResponse {
        try Task.checkCancellation()
        var request = try built.get()
        request.writeIdempotencyKey(of: call)
        let (gate, decode): (OfflineGate?, Decode)
        switch way {
        case .download(let run):
            return try await run.response(to: request, for: call, through: pipeline, follower)
        case .upload(let run, let decode):
            let response = try await run.response(to: request, for: call) { [follower] part in
                try await follower.send(part, for: call, through: pipeline)
            }
            try Self.accept(response, of: call, decode, .successful)
            return response
        case .response(let ownGate, let ownDecode):
            (gate, decode) = (ownGate, ownDecode)
        }
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
            // A stored body may be damaged, or older than the app's types, so the client reloads it once. A reload
            // resends the first hop, so it requires an idempotent request: it must not repeat a POST.
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

    /// - Parameter accepted: nil for the statuses that the call accepts.
    private static func accept(
        _ response: PulseResponse, of call: Call, _ decode: Decode, _ accepted: RequestOptions.AcceptedStatuses? = nil
    ) throws {
        let accepted = accepted ?? call.options.acceptedStatuses ?? .successful
        if let error = PulseError(validating: response, accepted: accepted, now: call.environment.clock.now),
            !GraphQLPlan.isOutcome(response, of: call, accepted)
        {
            response.discard()
            throw error
        }
        try decode(response, call.options.decoder ?? .json)
    }
}

extension PulseError {
    /// Whether the body of the response is missing or cannot be decoded.
    fileprivate var isOfTheBody: Bool {
        switch kind {
        case .decodingFailed, .emptyBody: true
        default: false
        }
    }
}
