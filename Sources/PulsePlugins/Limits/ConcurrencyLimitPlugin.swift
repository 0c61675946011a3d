// SPDX-License-Identifier: MIT

public import PulseCore

/// Limits how many requests to a host are under way at a time; the rest wait in line.
///
/// Urgent calls (``RequestOptions/priority``) go first; within one priority it is first come, first served. A steady
/// stream of urgent calls holds up the others. A cancelled call leaves the line at once and takes no permit with it;
/// one whose deadline strikes in line fails with ``PulseError/deadlineExceeded(last:)``.
///
/// A permit is given back when the answer is there, for a streamed answer when its stream ends. Every attempt takes its
/// own, and none is held while the retry loop waits. A call that a plugin further in makes within another one of the
/// same key shares that one's permit. A call made within a token's refresh takes none: those who hold the permits may
/// wait for it.
public struct ConcurrencyLimitPlugin: PulsePlugin {
    /// A class for its identity: copies of the plugin share one line.
    private final class Semaphores: Sendable {
        let permits: KeyedSemaphore<LimitKey.Value>

        init(limit: Int) {
            permits = KeyedSemaphore(limit: limit)
        }
    }

    private let semaphores: Semaphores
    private let key: LimitKey

    public var identifier: String { "com.pulse.concurrency-limit" }

    /// Limits the requests under way under one key.
    ///
    /// - Parameter limit: how many; less than 1 counts as 1.
    /// - Parameter key: which calls share a limit; those to one host by default.
    public init(limit: Int, by key: LimitKey = .host) {
        semaphores = Semaphores(limit: limit)
        self.key = key
    }

    /// How many keys have requests under way: no others are kept.
    var keyCount: Int { semaphores.permits.keyCount }

    func waiterCount(_ key: LimitKey.Value) -> Int { semaphores.permits.waiterCount(key) }

    func activeCount(_ key: LimitKey.Value) -> Int { semaphores.permits.activeCount(key) }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        // Those who hold the permits may wait for the refresh.
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
    // Not inlined: its temporaries would take room in the frame of each attempt.
    @inline(never)
    private func wait(_ key: LimitKey.Value, _ id: UInt64, for context: PluginContext) async throws {
        try await semaphores.permits.wait(
            key, id, priority: context.call.options.priority ?? .normal, context.call.cancellation)
    }
}

// Finding a key takes no waiting, and the one wait here ends with the call.
extension ConcurrencyLimitPlugin: EndsWithItsCall, TellsItsHooks {}

extension PulsePlugin where Self == ConcurrencyLimitPlugin {
    /// A ``ConcurrencyLimitPlugin`` with that limit: ``ConcurrencyLimitPlugin/init(limit:by:)``.
    public static func concurrencyLimit(_ limit: Int, by key: LimitKey = .host) -> ConcurrencyLimitPlugin {
        ConcurrencyLimitPlugin(limit: limit, by: key)
    }
}
