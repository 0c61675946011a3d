// SPDX-License-Identifier: MIT

public import PulseCore

/// Changes responses before outer plugins and the call itself see them: unwraps an envelope, decrypts, maps an old API
/// to a new one.
///
/// ```swift
/// let unwrapping = TransformPlugin { response, _ in
///     guard response.statusCode == 200, response.bytes == nil else { return response }
///     var opened = response
///     opened.data = try JSONEncoder().encode(response.decode(Envelope.self).data)
///     return opened
/// }
/// ```
///
/// It sees responses of any status, including those from an inner cache, and the response of a streamed call with its
/// stream. A redirect that will be followed passes unchanged, and so does a failure.
public struct TransformPlugin: PulsePlugin, HookDeclaring {
    private let transform: @Sendable (PulseResponse, PluginContext) async throws -> PulseResponse

    public var identifier: String { "com.pulse.transform" }
    public let scope: PluginScope

    /// Creates a plugin that transforms responses with a closure.
    ///
    /// - Parameter everyAttempt: transforms inside the retry loop, so that the loop judges the result. By default it
    ///   runs once per call, with the final response of the loop.
    /// - Parameter transform: called concurrently for concurrent calls. An error that it throws fails the call. If it
    ///   drops a stream, the stream is cancelled.
    public init(
        everyAttempt: Bool = false,
        _ transform: @escaping @Sendable (PulseResponse, PluginContext) async throws -> PulseResponse
    ) {
        scope = everyAttempt ? .attempt : .call
        self.transform = transform
    }

    public func didReceive(
        _ result: Result<PulseResponse, PulseError>, for context: PluginContext
    ) async throws -> Result<PulseResponse, PulseError>? {
        guard case .success(let response) = result, !context.willFollow(response) else { return nil }
        return .success(try await transform(response, context))
    }
}

extension PulsePlugin where Self == TransformPlugin {
    /// A ``TransformPlugin`` with a closure: ``TransformPlugin/init(everyAttempt:_:)``.
    public static func transform(
        everyAttempt: Bool = false,
        _ transform: @escaping @Sendable (PulseResponse, PluginContext) async throws -> PulseResponse
    ) -> TransformPlugin {
        TransformPlugin(everyAttempt: everyAttempt, transform)
    }
}
