// SPDX-License-Identifier: MIT

public import PulseCore

/// Gives each call with an unsafe method (POST, PUT, PATCH, DELETE …) an `Idempotency-Key`, so that a server that
/// supports the header processes the call once, however often the request arrives.
///
/// ```swift
/// let client = PulseClient(configuration: configuration, plugins: [.idempotency(), .retry()])
/// ```
///
/// All attempts and redirect hops of a call have the same UUID, from the client's randomness. A key set by the request,
/// the endpoint or ``RequestOptions/idempotencyKey`` is kept. A redirect that turns the call into a GET drops the key
/// together with the body.
///
/// With a key, a POST may be retried: use it only with a server that ignores duplicates.
public struct IdempotencyPlugin: PulsePlugin {
    private static let header = "Idempotency-Key"

    public var identifier: String { "com.pulse.idempotency" }
    public var scope: PluginScope { .call }

    /// Creates a plugin, which needs no settings.
    public init() {}

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard !context.method.isSafe else { return try await next(request) }
        if let written = request.header(Self.header) {
            // Also records the key in the call, where the retry loop and the offline queue read it.
            if context.idempotencyKey == nil { context.idempotencyKey = written }
            return try await next(request)
        }
        let key = context.idempotencyKey ?? context.randomness.uuid().uuidString
        context.idempotencyKey = key
        var request = request
        request.setHeader(Self.header, to: key)
        return try await next(request)
    }
}

extension IdempotencyPlugin: HookDeclaring {}

extension PulsePlugin where Self == IdempotencyPlugin {
    /// An ``IdempotencyPlugin``, which needs no settings.
    public static func idempotency() -> IdempotencyPlugin {
        IdempotencyPlugin()
    }
}
