// SPDX-License-Identifier: MIT

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The one source of time: nothing in PulseKit reads a clock or sleeps except through it. Used from any thread.
public protocol PulseClock: Sendable {
    /// The date by the wall clock, which may jump.
    var now: Date { get }
    /// The seconds since an arbitrary start, which never run backwards. Durations and deadlines are counted in them,
    /// and ``sleep(_:)`` waits by them.
    var uptime: TimeInterval { get }
    /// Suspends for that many seconds; returns at once for zero, a negative number or NaN. Throws `CancellationError`
    /// as soon as the task is cancelled.
    func sleep(_ seconds: TimeInterval) async throws
    /// Suspends as ``sleep(_:)`` does, and is told what the wait is for. PulseKit sleeps through this requirement
    /// alone; by default it calls ``sleep(_:)``.
    func sleep(_ seconds: TimeInterval, for purpose: SleepPurpose) async throws
}

extension PulseClock {
    /// Calls ``sleep(_:)``: a clock that does not ask what a wait is for has that method alone.
    public func sleep(_ seconds: TimeInterval, for purpose: SleepPurpose) async throws {
        try await sleep(seconds)
    }
}

/// The system's clock. ``uptime`` is its monotonic clock, which stands still while the machine sleeps.
public struct SystemClock: PulseClock {
    /// Creates the system's clock.
    public init() {}

    static var wallNow: Date { Date() }

    // The clock that Swift sleeps by. Darwin's CLOCK_MONOTONIC goes on while the machine sleeps.
    #if canImport(Darwin)
    private static var monotonic: clockid_t { CLOCK_UPTIME_RAW }
    #else
    private static var monotonic: clockid_t { CLOCK_MONOTONIC }
    #endif

    public var now: Date { Self.wallNow }

    public var uptime: TimeInterval {
        var time = timespec()
        clock_gettime(Self.monotonic, &time)
        return TimeInterval(time.tv_sec) + TimeInterval(time.tv_nsec) / 1e9
    }

    public func sleep(_ seconds: TimeInterval) async throws {
        try Task.checkCancellation()
        guard seconds > 0 else { return }
        // A century fits the nanoseconds; infinity does not.
        try await Task.sleep(nanoseconds: UInt64(min(seconds, 3e9) * 1e9))
    }
}

extension PulseClock where Self == SystemClock {
    /// The system's clock.
    public static var system: SystemClock { SystemClock() }
}
