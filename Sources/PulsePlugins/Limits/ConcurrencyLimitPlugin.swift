// SPDX-License-Identifier: MIT

public import PulseCore

/// Limits how many requests to a host are in flight at a time; the rest wait in a queue.
///
/// ```swift
/// let limit = ConcurrencyLimitPlugin(limit: 4)
/// let client = PulseClient(configuration: configuration, plugins: [limit])
/// ```
///
/// Urgent calls (``RequestOptions/priority``) go first; within one priority the order is first come, first served. A
/// steady stream of urgent calls delays the others. A cancelled call leaves the queue at once without a permit; a call
/// whose deadline passes in the queue fails with ``PulseError/deadlineExceeded(last:)``.
///
/// A permit is released when the response is complete; for a streamed response, when its stream ends. Every attempt
/// takes its own permit, and the retry loop holds none while it waits. A call that an inner plugin makes within another
/// call with the same key shares the permit of that call. A call made within a token refresh takes none, since the
/// permit holders may wait for the refresh.
public struct ConcurrencyLimitPlugin: PulsePlugin {
    /// A class for its identity: copies of the plugin share the semaphores.
    private final class Semaphores: Sendable {
        let permits: KeyedSemaphore<RateLimitPlugin.Key.Value>

        init(limit: Int) {
            permits = KeyedSemaphore(limit: limit)
        }
    }

    private let semaphores: Semaphores
    private let key: RateLimitPlugin.Key

    public var identifier: String { "com.pulse.concurrency-limit" }

    /// Limits the requests in flight under each key.
    ///
    /// - Parameter limit: the maximum number of requests in flight; less than 1 counts as 1.
    /// - Parameter key: which calls share a limit; those to one host by default.
    public init(limit: Int, by key: RateLimitPlugin.Key = .origin) {
        semaphores = Semaphores(limit: limit)
        self.key = key
    }

    /// The number of keys with requests in flight. Idle keys are dropped.
    var keyCount: Int { semaphores.permits.keyCount }

    func waiterCount(_ key: RateLimitPlugin.Key.Value) -> Int { semaphores.permits.waiterCount(key) }

    func activeCount(_ key: RateLimitPlugin.Key.Value) -> Int { semaphores.permits.activeCount(key) }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        // The permit holders may wait for the refresh.
        guard let key = key.value(request, context), !HeldPermit.covers(key, of: semaphores),
            !WorkScope.isWithin(any: TokenRefresh.self)
        else {
            return try await next(request)
        }
        if let id = semaphores.permits.enter(key) { try await wait(key, id, for: context) }
        let permit = HeldPermit(semaphores.permits, of: semaphores, key)
        let result = await HeldPermit.$innermost.withValue(permit) { await next.result(request) }
        if case .success(let response) = result, let stream = response.bytes {
            stream.onEnd { _ in permit.release() }
        } else {
            permit.release()
        }
        return try result.get()
    }
}

extension ConcurrencyLimitPlugin {
    private func wait(_ key: RateLimitPlugin.Key.Value, _ id: UInt64, for context: PluginContext) async throws {
        try await semaphores.permits.wait(
            key, id, priority: context.call.options.priority ?? .normal)
    }
}

// Finding a key does not wait, and waiting for a permit ends with the call.
extension ConcurrencyLimitPlugin: HookDeclaring {}

extension PulsePlugin where Self == ConcurrencyLimitPlugin {
    /// A ``ConcurrencyLimitPlugin`` with a limit: ``ConcurrencyLimitPlugin/init(limit:by:)``.
    public static func concurrencyLimit(_ limit: Int, by key: RateLimitPlugin.Key = .origin) -> ConcurrencyLimitPlugin {
        ConcurrencyLimitPlugin(limit: limit, by: key)
    }
}
