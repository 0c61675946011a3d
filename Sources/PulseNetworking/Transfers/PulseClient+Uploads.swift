// SPDX-License-Identifier: MIT

public import PulseCalls
public import PulseCore

/// Uploads with progress.
extension PulseClient {
    /// Sends an endpoint, as ``PulseClient/request(_:options:)`` does, and reports how much of its body is sent.
    ///
    /// Files, streams and multipart bodies are sent in constant memory. Each resend of a body, such as after a retry, a
    /// token refresh or a redirect that preserves it, is the next ``TransferProgress/attempt``.
    ///
    /// - Parameter resuming: resumes the upload after an interruption with the tus protocol, whatever the endpoint's
    ///   method. The body must be a file and the server must support the protocol; otherwise throws
    ///   ``PulseError/unsupported(_:)``. Any status from 200 to 299 is a success, whatever statuses the endpoint
    ///   accepts.
    /// - Parameter progress: receives the progress at most ten times a second, always the last value, and none after
    ///   the result. Called on any thread; the transfer may wait for it. Nil uses the listener of the options.
    @discardableResult
    public func upload<E: Endpoint>(
        _ endpoint: E, resuming: UploadResumption? = nil, options: RequestOptions = RequestOptions(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> E.Response {
        var options = options
        if let progress { options.progress = progress }
        guard let resuming else { return try await request(endpoint, options: options) }
        options.inherit(endpoint.options)
        // A cached response would have an outdated offset.
        options.cache = .bypass
        return try await decoded(endpoint) { [options] decode in
            let run = TusRun(
                resuming, options.retry ?? configuration.retryPolicy, progress: options.progress, decode: decode)
            return try await perform(plan(endpoint, options, CallShape(carrier: run)))
        }.value
    }

    /// Sends a file and ignores the body of the response: `try await client.upload(file, to: "/films/1")`.
    ///
    /// The path, its values, the query and the headers are as in `get`, the rest as for an endpoint. The file is read
    /// while it is sent.
    ///
    /// - Parameter method: PUT by default, which is retried. A POST is retried only if it has an idempotency key or was
    ///   never sent (RFC 9110, section 9.2.2).
    /// - Parameter contentType: the media type of the file; nil derives it from the file name extension.
    @discardableResult
    public func upload(
        _ file: URL, to target: PathText, path values: PathValues = [:], method: HTTPMethod = .put,
        contentType: String? = nil, query: QueryValues = [:], headers: [String: String] = [:],
        resuming: UploadResumption? = nil, options: RequestOptions = RequestOptions(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> EmptyResponse {
        try await upload(
            Verb<EmptyResponse>(method, target, values, query: query, headers: headers, .file(file, of: contentType)),
            resuming: resuming, options: options, progress: progress)
    }

    /// Sends a file and decodes the response:
    /// `let film = try await client.upload(file, to: "/films", method: .post, as: Film.self)`.
    public func upload<Value: Decodable & Sendable>(
        _ file: URL, to target: PathText, path values: PathValues = [:], method: HTTPMethod = .put,
        contentType: String? = nil, query: QueryValues = [:], headers: [String: String] = [:],
        as type: Value.Type = Value.self, resuming: UploadResumption? = nil,
        options: RequestOptions = RequestOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> Value {
        try await upload(
            Verb<Value>(method, target, values, query: query, headers: headers, .file(file, of: contentType)),
            resuming: resuming, options: options, progress: progress)
    }

    /// Sends an endpoint whose body is a file in a background session, which continues while the app is suspended or
    /// has ended.
    ///
    /// A later call with the same request and file, also after a relaunch, takes over the running or finished upload:
    /// so call it again at each launch until it returns. A changed file or another account starts a new upload. The
    /// request passes through all plugins before it is handed over, and its response when the app runs again. A 401
    /// then goes through the chain again; the system performs the waits between attempts.
    ///
    /// Cancelling the task, `cancelAll` and the client's shutdown cancel the upload; the end of the process does not. A
    /// deadline ends with the hand-over: then the resource timeout of the transfers is the limit, since the app may be
    /// suspended for longer. The file must stay unchanged until the end, at the same path relative to the directory of
    /// the transfers: an update moves the app's container, with both. The response body is limited to 1 MiB.
    ///
    /// The system may resend a request itself if its connection is lost. A request that must not be processed twice
    /// therefore needs an `Idempotency-Key` that is the same in each call.
    ///
    /// Throws, besides the errors of a request, ``PulseError/unsupported(_:)`` for a body that is not a file and for
    /// settings that cannot apply in the background: an automatic idempotency key, which a relaunch would change,
    /// pinned keys, TLS settings, a proxy or a redirect policy other than the default; the errors of
    /// ``BackgroundTransfers/start()``; and ``TransferFailure/busy`` while another call waits for the upload.
    ///
    /// - Parameter progress: as for ``upload(_:resuming:options:progress:)``, while the app runs.
    @discardableResult
    public func upload<E: Endpoint>(
        _ endpoint: E, in background: BackgroundTransfers, options: RequestOptions = RequestOptions(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> E.Response {
        var options = options
        options.inherit(endpoint.options)
        options.cache = .bypass
        if let progress { options.progress = progress }
        if case .automatic = options.idempotencyKey {
            throw PulseError.unsupported("an upload in the background needs an idempotency key of your own")
        }
        let transport = BackgroundTransport(background, id: nil, clock: configuration.clock)
        do {
            let value = try await decoded(endpoint) { [options] decode in
                try await perform(plan(endpoint, options, CallShape(substitute: substitute(transport)), decode: decode))
            }.value
            await transport.end(nil)
            return value
        } catch {
            await transport.end(PulseError(wrapping: error))
            throw error
        }
    }

    /// Sends a file in a background session and ignores the body of the response:
    /// `try await client.upload(file, to: "/films/1", in: background)`.
    ///
    /// The path, the method and the media type are those of an upload by path; the rest is as for an endpoint in the
    /// background. A later call with the same method, URL and file takes over the upload.
    @discardableResult
    public func upload(
        _ file: URL, to target: PathText, path values: PathValues = [:], method: HTTPMethod = .put,
        contentType: String? = nil, query: QueryValues = [:], headers: [String: String] = [:],
        in background: BackgroundTransfers, options: RequestOptions = RequestOptions(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> EmptyResponse {
        try await upload(
            Verb<EmptyResponse>(method, target, values, query: query, headers: headers, .file(file, of: contentType)),
            in: background, options: options, progress: progress)
    }

    /// Sends a file in a background session and decodes the response.
    public func upload<Value: Decodable & Sendable>(
        _ file: URL, to target: PathText, path values: PathValues = [:], method: HTTPMethod = .put,
        contentType: String? = nil, query: QueryValues = [:], headers: [String: String] = [:],
        as type: Value.Type = Value.self, in background: BackgroundTransfers,
        options: RequestOptions = RequestOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> Value {
        try await upload(
            Verb<Value>(method, target, values, query: query, headers: headers, .file(file, of: contentType)),
            in: background, options: options, progress: progress)
    }

    /// Returns the updates of an upload, the last with its value. The upload begins when the first element is
    /// requested; leaving the loop cancels it.
    public func uploading<E: Endpoint>(
        _ endpoint: E, resuming: UploadResumption? = nil, options: RequestOptions = RequestOptions()
    ) -> TransferUpdates<E.Response> where E.Response: Sendable {
        TransferUpdates { progress in
            try await self.upload(endpoint, resuming: resuming, options: options, progress: progress)
        }
    }

    /// Returns the updates of an upload of a file, whose response has no value. The parameters are those of `upload`.
    public func uploading(
        _ file: URL, to target: PathText, path values: PathValues = [:], method: HTTPMethod = .put,
        contentType: String? = nil, query: QueryValues = [:], headers: [String: String] = [:],
        resuming: UploadResumption? = nil, options: RequestOptions = RequestOptions()
    ) -> TransferUpdates<EmptyResponse> {
        uploading(
            Verb<EmptyResponse>(method, target, values, query: query, headers: headers, .file(file, of: contentType)),
            resuming: resuming, options: options)
    }
}

extension RequestBody {
    /// - Parameter contentType: nil derives it from the file name extension.
    fileprivate static func file(_ url: URL, of contentType: String?) -> RequestBody {
        .file(url, contentType: contentType ?? MIMEType.guess(filename: url.lastPathComponent))
    }
}
