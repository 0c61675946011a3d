// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore

/// Streams from a target that is not a literal.
extension PulseClient {
    /// Sends a GET to the target and returns the body as it arrives.
    @_disfavoredOverload
    public func bytes(
        _ target: some RequestTarget, options: RequestOptions = RequestOptions()
    ) async throws -> (bytes: ByteStream, response: PulseResponse) {
        try await bytes(target.requestPath, options: options)
    }

    /// The lines of the response body of a GET to the target, as they arrive.
    @_disfavoredOverload
    public func lines(_ target: some RequestTarget, options: RequestOptions = RequestOptions()) -> Lines {
        lines(target.requestPath, options: options)
    }

    /// The values of the JSON Lines response to a GET to the target, as they arrive.
    @_disfavoredOverload
    public func jsonLines<Value: Decodable & Sendable>(
        _ target: some RequestTarget, of type: Value.Type, options: RequestOptions = RequestOptions()
    ) -> JSONLines<Value> {
        jsonLines(target.requestPath, of: type, options: options)
    }

    /// The server-sent events of the response to a GET to the target.
    @_disfavoredOverload
    public func serverSentEvents(
        _ target: some RequestTarget, stream: EventStream.Options = EventStream.Options(),
        options: RequestOptions = RequestOptions()
    ) -> EventStream {
        serverSentEvents(target.requestPath, stream: stream, options: options)
    }
}
