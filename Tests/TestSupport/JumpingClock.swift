// SPDX-License-Identifier: MIT

public import PulseCore

/// A clock that a test advances at once, and on which every sleep lasts until it is cancelled.
public final class JumpingClock: PulseClock {
    private let time = Locked(0.0)
    private let sleeps = AsyncStream<TimeInterval>.makeStream()

    public init() {}

    public var now: Date { Date(timeIntervalSince1970: uptime) }
    public var uptime: TimeInterval { time.withLock { $0 } }

    public func jump(by seconds: TimeInterval) { time.withLock { $0 += seconds } }

    public func nextSleep() async -> TimeInterval? {
        for await sleep in sleeps.stream { return sleep }
        return nil
    }

    public func sleep(_ seconds: TimeInterval) async throws {
        try Task.checkCancellation()
        sleeps.continuation.yield(seconds)
        let (never, continuation) = AsyncStream<Void>.makeStream()
        for await _ in never {}
        continuation.finish()
        throw CancellationError()
    }
}
