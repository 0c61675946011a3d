// SPDX-License-Identifier: MIT

public import PulseCore

/// Gives each call whose method is not safe (POST, PUT, PATCH, DELETE …) an `Idempotency-Key`, so that a server which
/// knows the header does the work once, however often the request arrives.
///
/// All attempts and redirect hops of a call have the same UUID, from the client's randomness. A key that the request,
/// the endpoint or ``RequestOptions/idempotencyKey`` brings along stays. A redirect that turns the call into a GET ends
/// the key with the body.
///
/// With a key a POST may be retried: use it only with a server that ignores duplicates.
public struct IdempotencyPlugin: PulsePlugin {
    private static let header = "Idempotency-Key"

    public var identifier: String { "com.pulse.idempotency" }
    public var scope: PluginScope { .call }

    /// A plugin without settings.
    public init() {}

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard !context.method.isSafe else { return try await next(request) }
        if let written = request.header(Self.header) {
            // The key may not be noted in the call, where the retry loop and the offline queue look for it.
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

extension IdempotencyPlugin: EndsWithItsCall, TellsItsHooks {}

extension PulsePlugin where Self == IdempotencyPlugin {
    /// An ``IdempotencyPlugin``, which needs no settings.
    public static func idempotency() -> IdempotencyPlugin {
        IdempotencyPlugin()
    }
}
