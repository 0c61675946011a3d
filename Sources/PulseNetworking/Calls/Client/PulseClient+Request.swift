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
    package func decoded<E: Endpoint>(
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

    /// Sends a `URLRequest` through the whole chain and returns the undecoded response.
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
        // A `URLRequest` always has a timeout. The caller did not choose Foundation's default.
        let timeout = request.timeoutInterval == Self.foundationTimeout ? 0 : request.timeoutInterval
        resolve(&options, idleTimeout: timeout)
        let pipeline = pipeline(for: [], options)
        let call = call(to: request.url?.absoluteString ?? "", nil, method ?? .get, options)
        let plan = CallPlan(call, pipeline, DirectCarrier()) { [self] in
            try checkParts(own, method ?? .get, isQueueable: false, pipeline)
            guard method != nil else { throw PulseError.invalidRequest(reason: "the method is not a token") }
            return try builder.build(request, call.options)
        }
        return try await perform(plan)
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
    /// Decodes an accepted response. The closure stores the value, so the code below is not generic over its type. This
    /// saves more time per call than the decoder costs.
    @usableFromInline
    package typealias Decode = @Sendable (PulseResponse, any ResponseDecoder) throws -> Void

    @usableFromInline
    func send<E: Endpoint>(
        _ endpoint: E, _ options: RequestOptions, decode: @escaping Decode
    ) async throws -> PulseResponse {
        try await perform(plan(endpoint, options, decode: decode))
    }

    /// The call of an endpoint, before it starts.
    ///
    /// - Parameter decode: decodes the response for a ``DirectCarrier``; other carriers have their own.
    package func plan<E: Endpoint>(
        _ endpoint: E, _ options: RequestOptions, _ shape: CallShape = CallShape(),
        decode: @escaping Decode = { _, _ in }
    ) -> CallPlan {
        var options = options
        options.inherit(endpoint.options)
        if shape.carrier != nil, options.progress != nil { options.progress = nil }
        let own = options
        resolve(&options, idleTimeout: endpoint.timeoutInterval)
        let isDirect = shape.carrier == nil && shape.substitute == nil
        // A streamed body cannot be delivered by a later replay.
        let gate = isDirect && shape.delivery != .streamed ? gate(for: endpoint, &options) : nil
        let body = endpoint.body
        let content = body.callContent
        if options.route == nil, let route = content?.route { options.route = route }
        let path = path(of: endpoint, content)
        var plugins = endpoint.plugins
        if let content, shape.delivery == nil { plugins = content.plugins(in: self) + plugins }
        let pipeline =
            shape.substitute.map { self.pipeline(for: plugins, retry: options.retry, wire: wire(over: $0)) }
            ?? self.pipeline(for: plugins, options)
        let call = call(
            to: (try? path.get()) ?? "", shape.routeType ?? E.self, endpoint.method, options, shape.delivery,
            isQueueable: gate != nil, environment: shape.substitute?.environment)
        content?.prepare(call)
        return CallPlan(call, pipeline, shape.carrier ?? DirectCarrier(gate, decode: decode)) { [self, own] in
            #if DEBUG
            endpointCheck.check(endpoint)
            #endif
            if !own.isEmpty { try checkParts(own, endpoint.method, isQueueable: gate != nil, pipeline) }
            try content?.check()
            return try builder.build(
                endpoint, path: path.get(), body, call.options, accept: shape.accept, isForeign: shape.isForeign)
        }
    }

    /// The path of an endpoint, which its content may replace.
    func path<E: Endpoint>(of endpoint: E, _ content: (any CallContent)?) -> Result<String, any Error> {
        let path = Result { try endpoint.path.requestPath.text }
        guard let content else { return path }
        return path.map { content.path($0, in: configuration) }
    }

    package func perform(_ plan: CallPlan) async throws -> PulseResponse {
        try await begin(plan).response()
    }

    /// Starts a call in its own task, which the caller, a tag, the deadline or a shutdown can cancel. The caller must
    /// await the response, or the call never ends.
    package func begin(_ plan: CallPlan) throws -> RunningCall {
        let (call, pipeline, carrier) = (plan.call, plan.pipeline, plan.carrier)
        let active = ActiveCall(call, pipeline, in: calls)
        try active.begin()
        // Built here, so that no closure has to capture the parts for the task. The task reports a failed build.
        let built = Result { try active.unlessEnded(try plan.build()) }
        let work = Task.startingNow { [follower] in
            try Task.checkCancellation()
            var request = try built.get()
            request.writeIdempotencyKey(of: call)
            return try await carrier.response(
                to: request, over: CallRoute(call: call, pipeline: pipeline, follower: follower))
        }
        return RunningCall(active: active, work: work, deadlines: deadlines)
    }
}
