// SPDX-License-Identifier: MIT

public import PulseCalls
public import PulseCore

/// Response bodies that are read as they arrive.
///
/// Each is a call like any other, with all plugins, redirects, timeouts and tags. Its attempts, and any deadline, end
/// with the header fields of the response: a body that fails later is not retried. The call ends, and
/// ``NetworkEvent/requestCompleted(_:_:latency:)`` is emitted, when the body ends or its reader stops. A queueable
/// endpoint is not queued: without a connection it fails with ``PulseError/noConnection``.
extension PulseClient {
    /// Sends an endpoint and returns the body as it arrives, with its response.
    ///
    /// `Accept` is `*/*` unless it is set. A status that the call does not accept is an error, as with `request`.
    public func bytes<E: Endpoint>(
        _ endpoint: E, options: RequestOptions = RequestOptions()
    ) async throws -> (bytes: ByteStream, response: PulseResponse) {
        var response = try await perform(plan(endpoint, options, CallShape(delivery: .streamed, accept: "*/*")))
        let bytes = response.stream
        // The caller may keep the response and drop the stream, which ends the call.
        if response.bytes != nil { response.removeStream() }
        return (bytes, response)
    }

    /// Sends a GET and returns the body as it arrives, as ``bytes(_:options:)-swift.method`` does.
    public func bytes(
        _ path: PathText, options: RequestOptions = RequestOptions()
    ) async throws -> (bytes: ByteStream, response: PulseResponse) {
        try await bytes(Verb<EmptyResponse>(get: path), options: options)
    }

    /// Returns the lines of the body as it arrives. The first read sends the request.
    ///
    /// `Accept` is `text/plain, */*;q=0.5` unless it is set.
    public func lines<E: Endpoint>(_ endpoint: E, options: RequestOptions = RequestOptions()) -> Lines {
        Lines { try await self.open(endpoint, options, accept: "text/plain, */*;q=0.5") }
    }

    /// Returns the lines of the body of a GET as it arrives.
    public func lines(_ path: PathText, options: RequestOptions = RequestOptions()) -> Lines {
        lines(Verb<EmptyResponse>(get: path), options: options)
    }

    /// Returns the values of a JSON Lines body or JSON text sequence as it arrives. The first read sends the request.
    ///
    /// `Accept` names the formats unless it is set. The call's decoder decodes each value.
    public func jsonLines<E: Endpoint, Value: Decodable & Sendable>(
        _ endpoint: E, of type: Value.Type, options: RequestOptions = RequestOptions()
    ) -> JSONLines<Value> {
        let accept = "application/x-ndjson, application/jsonl, application/json-seq, */*;q=0.5"
        return JSONLines { try await self.open(endpoint, options, accept: accept) }
    }

    /// Returns the values of a JSON Lines body of a GET as it arrives.
    public func jsonLines<Value: Decodable & Sendable>(
        _ path: PathText, of type: Value.Type, options: RequestOptions = RequestOptions()
    ) -> JSONLines<Value> {
        jsonLines(Verb<EmptyResponse>(get: path), of: type, options: options)
    }

    /// Returns the server-sent events of a response, with reconnection. The first read sends the first request.
    ///
    /// Each connection sends `Accept: text/event-stream` and `Cache-Control: no-cache`, unless they are set, and
    /// bypasses the cache. Its idle timeout is 60 seconds unless the call or the endpoint sets one: a connection
    /// without any bytes, even of comments, then counts as lost. The accepted statuses of the call are ignored.
    public func serverSentEvents<E: Endpoint>(
        _ endpoint: E, stream: EventStream.Options = EventStream.Options(), options: RequestOptions = RequestOptions()
    ) -> EventStream {
        var merged = options
        merged.inherit(endpoint.options)
        let headers = endpoint.headers.overridden(by: merged.headers ?? [:])
        let mayRepeat =
            endpoint.method.isIdempotent || merged.idempotencyKey != nil || headers.header("Idempotency-Key") != nil
        // Without the endpoint's, which each connection reads for itself.
        var own = options
        // The same key on every connection: the server must recognize them as one request.
        if merged.idempotencyKey == .automatic {
            own.idempotencyKey = .value(environment.randomness.uuid().uuidString)
        }
        // The type annotation matters: a comparison with a literal would use the `Int` property, which has a default.
        let timeout: TimeInterval = endpoint.timeoutInterval
        if merged.timeout == nil, timeout == 0 { own.timeout = 60 }
        if headers.header("Cache-Control") == nil {
            own.headers = (own.headers ?? [:]).overridden(by: ["Cache-Control": "no-cache"])
        }
        own.cache = .bypass
        own.acceptedStatuses = .only(200, 204)
        return EventStream(
            EventConnection(
                options: stream, reconnect: stream.reconnect ?? (mayRepeat ? .eventStream : .never),
                tag: merged.tag, calls: calls, environment: environment
            ) { [own] id in
                var options = own
                if !id.isEmpty { options.headers = (own.headers ?? [:]).overridden(by: ["Last-Event-ID": id]) }
                return try self.begin(
                    self.plan(endpoint, options, CallShape(delivery: .streamed, accept: "text/event-stream")) {
                        response, _ in
                        guard response.statusCode != 204, response.mediaType != "text/event-stream" else { return }
                        response.discard()
                        throw TransportFailure(
                            code: .cannotParseResponse, phase: .responseStarted,
                            underlying: UnexpectedMediaType(expected: "text/event-stream", found: response.mediaType))
                    })
            })
    }

    /// Returns the server-sent events of the response to a GET.
    public func serverSentEvents(
        _ path: PathText, stream: EventStream.Options = EventStream.Options(),
        options: RequestOptions = RequestOptions()
    ) -> EventStream {
        serverSentEvents(Verb<EmptyResponse>(get: path), stream: stream, options: options)
    }

    /// Sends an endpoint for a streamed response.
    private func open<E: Endpoint>(
        _ endpoint: E, _ options: RequestOptions, accept: String
    ) async throws -> StreamedResponse {
        let plan = plan(endpoint, options, CallShape(delivery: .streamed, accept: accept))
        return StreamedResponse(try await perform(plan), environment)
    }
}

extension Verb {
    fileprivate init(get path: PathText) {
        self.init(.get, path, [:], query: [:], headers: [:])
    }
}
