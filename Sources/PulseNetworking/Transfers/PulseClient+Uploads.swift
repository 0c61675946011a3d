// SPDX-License-Identifier: MIT

public import PulseCore

/// Uploads with progress.
extension PulseClient {
    /// Sends an endpoint, as ``request(_:options:)`` does, and reports how much of its body is sent.
    ///
    /// Files, streams and multipart bodies are sent in constant memory. A body that is sent again, as after a retry, a
    /// token refresh or a redirect that keeps it, is the next ``TransferProgress/attempt``.
    ///
    /// - Parameter resuming: lets an upload go on after an interruption, if the server has the tus protocol; if not,
    ///   the endpoint is sent as it is. The body must be a file, or the upload is ``PulseError/unsupported(_:)``. With
    ///   the protocol, any status from 200 to 299 is a success, whatever statuses the endpoint accepts.
    /// - Parameter progress: takes the progress, at most ten values a second and always the last, none after the
    ///   result. Called from any thread; the transfer may wait for it. Nil for that of the options.
    public func upload<E: Endpoint>(
        _ endpoint: E, resuming: UploadResumption? = nil, options: RequestOptions = RequestOptions(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> E.Response {
        guard let resuming else {
            var options = options
            if let progress { options.progress = progress }
            return try await request(endpoint, options: options)
        }
        var merged = options
        merged.inherit(endpoint.options)
        var own = options
        // A stored response would tell an offset of the past.
        own.cache = .bypass
        let run = TusRun(
            resuming, merged.retry ?? configuration.retryPolicy, progress: progress ?? merged.progress)
        return try await decoded(endpoint) { decode in
            try await send(endpoint, own, delivery: nil, upload: run, decode: decode)
        }.value
    }

    /// The steps of an upload, and its value as the last one. The upload begins when the first element is asked for;
    /// leaving the loop cancels it.
    public func uploading<E: Endpoint>(
        _ endpoint: E, resuming: UploadResumption? = nil, options: RequestOptions = RequestOptions()
    ) -> TransferUpdates<E.Response> where E.Response: Sendable {
        TransferUpdates { progress in
            try await self.upload(endpoint, resuming: resuming, options: options, progress: progress)
        }
    }
}
