// SPDX-License-Identifier: MIT

public import PulseCore

/// Changes answers before plugins further out, and the call itself, see them: unwraps an envelope, decrypts, maps an
/// old API to a new one.
///
/// It sees answers of any status, those from a cache further in too, and the answer of a streamed call with its stream.
/// A redirect that is going to be followed passes untouched, and so does a failure.
public struct TransformPlugin: PulsePlugin, TellsItsHooks {
    private let transform: @Sendable (PulseResponse, PluginContext) async throws -> PulseResponse

    public var identifier: String { "com.pulse.transform" }
    public let scope: PluginScope

    /// Transforms answers by a closure.
    ///
    /// - Parameter everyAttempt: transforms inside the retry loop, so that the loop judges what comes out. By default
    ///   once a call, with the answer that the loop has settled on.
    /// - Parameter transform: called concurrently for concurrent calls. What it throws fails the call. If it drops a
    ///   stream the stream is cancelled.
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
    /// A ``TransformPlugin`` with that closure: ``TransformPlugin/init(everyAttempt:_:)``.
    public static func transform(
        everyAttempt: Bool = false,
        _ transform: @escaping @Sendable (PulseResponse, PluginContext) async throws -> PulseResponse
    ) -> TransformPlugin {
        TransformPlugin(everyAttempt: everyAttempt, transform)
    }
}
