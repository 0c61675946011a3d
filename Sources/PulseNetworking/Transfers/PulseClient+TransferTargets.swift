// SPDX-License-Identifier: MIT

public import PulseCalls
public import PulseCore

// Disfavored, so that a literal with interpolations is a `PathText`, which encodes them.
/// Transfers whose target is not a literal: a `String`, which is used as is, a `URL`, a path template or a custom
/// target. The other parameters, the results and the errors are those of the functions with a literal path.
extension PulseClient {
    /// Writes the body of the response of a GET to a file: `try await client.download(url, to: file)`.
    @_disfavoredOverload
    @discardableResult
    public func download(
        _ target: some RequestTarget, path values: PathValues = [:], query: QueryValues = [:],
        headers: [String: String] = [:], to file: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> PulseResponse {
        try await self.download(
            target.requestPath, path: values, query: query, headers: headers, to: file, download: download,
            options: options, progress: progress)
    }

    /// Writes the body of the response of a GET to a file under the name that the server suggests.
    @_disfavoredOverload
    @discardableResult
    public func download(
        _ target: some RequestTarget, path values: PathValues = [:], query: QueryValues = [:],
        headers: [String: String] = [:], into directory: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> PulseResponse {
        try await self.download(
            target.requestPath, path: values, query: query, headers: headers, into: directory, download: download,
            options: options, progress: progress)
    }

    /// Returns the updates of a download of a GET to a file.
    @_disfavoredOverload
    public func downloading(
        _ target: some RequestTarget, path values: PathValues = [:], query: QueryValues = [:],
        headers: [String: String] = [:], to file: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions()
    ) -> TransferUpdates<PulseResponse> {
        downloading(
            target.requestPath, path: values, query: query, headers: headers, to: file, download: download,
            options: options)
    }

    /// Sends a file and ignores the body of the response: `try await client.upload(file, to: url)`.
    @_disfavoredOverload
    @discardableResult
    public func upload(
        _ file: URL, to target: some RequestTarget, path values: PathValues = [:], method: HTTPMethod = .put,
        contentType: String? = nil, query: QueryValues = [:], headers: [String: String] = [:],
        resuming: UploadResumption? = nil, options: RequestOptions = RequestOptions(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> EmptyResponse {
        try await upload(
            file, to: target.requestPath, path: values, method: method, contentType: contentType, query: query,
            headers: headers, resuming: resuming, options: options, progress: progress)
    }

    /// Sends a file and decodes the response.
    @_disfavoredOverload
    public func upload<Value: Decodable & Sendable>(
        _ file: URL, to target: some RequestTarget, path values: PathValues = [:], method: HTTPMethod = .put,
        contentType: String? = nil, query: QueryValues = [:], headers: [String: String] = [:],
        as type: Value.Type = Value.self, resuming: UploadResumption? = nil,
        options: RequestOptions = RequestOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> Value {
        try await upload(
            file, to: target.requestPath, path: values, method: method, contentType: contentType, query: query,
            headers: headers, as: type, resuming: resuming, options: options, progress: progress)
    }

    /// Sends a file in a background session and ignores the body of the response.
    @_disfavoredOverload
    @discardableResult
    public func upload(
        _ file: URL, to target: some RequestTarget, path values: PathValues = [:], method: HTTPMethod = .put,
        contentType: String? = nil, query: QueryValues = [:], headers: [String: String] = [:],
        in background: BackgroundTransfers, options: RequestOptions = RequestOptions(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> EmptyResponse {
        try await upload(
            file, to: target.requestPath, path: values, method: method, contentType: contentType, query: query,
            headers: headers, in: background, options: options, progress: progress)
    }

    /// Sends a file in a background session and decodes the response.
    @_disfavoredOverload
    public func upload<Value: Decodable & Sendable>(
        _ file: URL, to target: some RequestTarget, path values: PathValues = [:], method: HTTPMethod = .put,
        contentType: String? = nil, query: QueryValues = [:], headers: [String: String] = [:],
        as type: Value.Type = Value.self, in background: BackgroundTransfers,
        options: RequestOptions = RequestOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> Value {
        try await upload(
            file, to: target.requestPath, path: values, method: method, contentType: contentType, query: query,
            headers: headers, as: type, in: background, options: options, progress: progress)
    }

    /// Returns the updates of an upload of a file, whose response has no value.
    @_disfavoredOverload
    public func uploading(
        _ file: URL, to target: some RequestTarget, path values: PathValues = [:], method: HTTPMethod = .put,
        contentType: String? = nil, query: QueryValues = [:], headers: [String: String] = [:],
        resuming: UploadResumption? = nil, options: RequestOptions = RequestOptions()
    ) -> TransferUpdates<EmptyResponse> {
        uploading(
            file, to: target.requestPath, path: values, method: method, contentType: contentType, query: query,
            headers: headers, resuming: resuming, options: options)
    }
}

extension Downloads {
    /// Adds a download of that target to a file.
    @_disfavoredOverload
    @discardableResult
    public func add(
        _ target: some RequestTarget, path values: PulseClient.PathValues = [:],
        query: PulseClient.QueryValues = [:], headers: [String: String] = [:], to file: URL,
        download: Download.Options = Download.Options(), options: RequestOptions = RequestOptions()
    ) async throws -> Download {
        try await add(
            target.requestPath, path: values, query: query, headers: headers, to: file, download: download,
            options: options)
    }

    /// Adds a download of that target into a directory, under the name that the server suggests.
    @_disfavoredOverload
    @discardableResult
    public func add(
        _ target: some RequestTarget, path values: PulseClient.PathValues = [:],
        query: PulseClient.QueryValues = [:], headers: [String: String] = [:], into directory: URL,
        download: Download.Options = Download.Options(), options: RequestOptions = RequestOptions()
    ) async throws -> Download {
        try await add(
            target.requestPath, path: values, query: query, headers: headers, into: directory, download: download,
            options: options)
    }
}

extension Download {
    /// Resumes with that target for the same content: `try await download.resume(with: signedURL)`.
    @_disfavoredOverload
    public func resume(with target: some RequestTarget, options: RequestOptions = RequestOptions()) async throws {
        try await resume(with: target.requestPath, options: options)
    }
}
