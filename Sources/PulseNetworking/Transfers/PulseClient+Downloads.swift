// SPDX-License-Identifier: MIT

public import PulseCalls
public import PulseCore
import PulseStorage

/// Downloads to files.
///
/// A download is one call with as many requests as it needs: if its connection is lost, it requests the rest. Each
/// request passes through all plugins, with a fresh token. The deadline covers the whole download, and
/// ``NetworkEvent/requestStarted(_:)`` and ``NetworkEvent/requestCompleted(_:_:latency:)`` are emitted once. The target
/// changes once, by a rename, when the content is complete, its status, length and digests are right, and its bytes are
/// on the disk. Until then, and after a failure, the target is unchanged.
///
/// The received bytes are kept in a hidden file beside the target, with the validators that the server sent. A later
/// download of the same content to the same file, also after a crash, requests the rest with `Range` and `If-Range`
/// (RFC 9110, section 13.1.5). Only GET is resumed. Downloads bypass the cache.
extension PulseClient {
    /// Sends an endpoint and writes the body of its response to a file, whose directory must exist.
    ///
    /// Throws ``PulseError``, with a ``TransferFailure`` as the underlying error of
    /// ``PulseError/transport(_:underlying:)`` if the content or the file is at fault. Only a status of 200 to 299 is
    /// stored, whatever statuses the call accepts.
    ///
    /// - Parameter download: the settings of the download.
    /// - Parameter progress: receives the progress at most ten times a second, always the last value, and none after
    ///   the result. Called on any thread; the download waits for it.
    /// - Returns: the response to the last request, with the file as its body: its status is 206 if that request was
    ///   for the rest, and 416 if there was no rest.
    @discardableResult
    public func download<E: Endpoint>(
        _ endpoint: E, to file: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> PulseResponse {
        try await self.download(endpoint, .file(file), download, options, progress)
    }

    /// Sends a GET and writes the body of its response to a file: `try await client.download("/films/1", to: file)`.
    ///
    /// The path, its values, the query and the headers are as in `get`, the rest as for an endpoint.
    @discardableResult
    public func download(
        _ target: PathText, path values: PathValues = [:], query: QueryValues = [:],
        headers: [String: String] = [:], to file: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> PulseResponse {
        let endpoint = Verb<EmptyResponse>(.get, target, values, query: query, headers: headers)
        return try await self.download(endpoint, .file(file), download, options, progress)
    }

    /// Sends an endpoint and writes the body of its response to a file in a directory, under the name that the server
    /// suggests in `Content-Disposition` (RFC 6266), or the last component of the URL. If the name is taken, a number
    /// is added: `report (1).pdf`.
    ///
    /// The name is one component without leading dots or control characters, whatever the server sends. The response's
    /// ``PulseResponse/file`` has it.
    @discardableResult
    public func download<E: Endpoint>(
        _ endpoint: E, into directory: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> PulseResponse {
        try await self.download(endpoint, .directory(directory), download, options, progress)
    }

    /// Sends a GET and writes the body of its response to a file under the name that the server suggests.
    @discardableResult
    public func download(
        _ target: PathText, path values: PathValues = [:], query: QueryValues = [:],
        headers: [String: String] = [:], into directory: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> PulseResponse {
        let endpoint = Verb<EmptyResponse>(.get, target, values, query: query, headers: headers)
        return try await self.download(endpoint, .directory(directory), download, options, progress)
    }

    /// Returns the updates of a download to a file, the last with its response. The download begins when the first
    /// element is requested; leaving the loop cancels it.
    public func downloading<E: Endpoint>(
        _ endpoint: E, to file: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions()
    ) -> TransferUpdates<PulseResponse> {
        TransferUpdates { progress in
            try await self.download(endpoint, to: file, download: download, options: options, progress: progress)
        }
    }

    /// Returns the updates of a download of a GET to a file, as for an endpoint.
    public func downloading(
        _ target: PathText, path values: PathValues = [:], query: QueryValues = [:],
        headers: [String: String] = [:], to file: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions()
    ) -> TransferUpdates<PulseResponse> {
        downloading(
            Verb<EmptyResponse>(.get, target, values, query: query, headers: headers), to: file, download: download,
            options: options)
    }

    private func download<E: Endpoint>(
        _ endpoint: E, _ target: DownloadRun.Target, _ download: Download.Options, _ options: RequestOptions,
        _ progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws -> PulseResponse {
        let options = options.ofDownload(endpoint)
        let run = DownloadRun(
            target, download, options.retry ?? configuration.retryPolicy, inOnePiece: !hasStreams,
            progress: progress ?? options.progress)
        let shape = CallShape(delivery: try delivery(of: run), accept: "*/*", carrier: run)
        return try await perform(plan(endpoint, options, shape))
    }

    private var hasStreams: Bool { !capabilities.contains(.noStreams) }

    private func delivery(
        of run: DownloadRun, _ background: BackgroundTransport? = nil
    ) throws -> TransportRequest.Delivery {
        try background == nil && hasStreams ? .streamed : .file(run.partialFile(), resumeOffset: 0)
    }

    /// Sends a stored request for its account, and writes the body of its response to a file.
    ///
    /// - Parameter background: hands the request over to the system; nil to send it by the client's transport.
    func download(
        _ replay: QueuedSend, _ target: DownloadRun.Target, _ download: Download.Options,
        by background: BackgroundTransport? = nil,
        restarted: @escaping @Sendable (_ reason: String) -> Void,
        progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> PulseResponse {
        let run = DownloadRun(
            target, download, configuration.retryPolicy, inOnePiece: background != nil || !hasStreams,
            background: background, restarted: restarted, progress: progress)
        let options = replay.options.with(\.cache, value: .bypass).with(\.acceptedStatuses, value: .successful)
        let shape = CallShape(
            delivery: try delivery(of: run, background), carrier: run, substitute: background.map(substitute))
        return try await perform(plan(replaying: replay, options, shape))
    }
}

extension RequestOptions {
    /// The options of a download of that endpoint, with those of the endpoint.
    func ofDownload<E: Endpoint>(_ endpoint: E) -> RequestOptions {
        var options = self
        options.inherit(endpoint.options)
        options.cache = .bypass
        // Nothing else is stored, and an accepted 401 would not refresh the token.
        options.acceptedStatuses = .successful
        // A part of a coded body cannot be decoded.
        if endpoint.headers.header("Accept-Encoding") == nil, options.headers?.header("Accept-Encoding") == nil {
            options.headers = (options.headers ?? [:]).overridden(by: ["Accept-Encoding": "identity"])
        }
        return options
    }
}
