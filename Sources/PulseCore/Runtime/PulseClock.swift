// SPDX-License-Identifier: MIT

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The only source of time: PulseKit reads the time and sleeps only through it. Used from any thread.
public protocol PulseClock: Sendable {
    /// The date of the wall clock, which may jump.
    var now: Date { get }
    /// The seconds since an arbitrary start, which never run backwards. Durations and deadlines use them, and
    /// ``sleep(_:)`` waits by them.
    var uptime: TimeInterval { get }
    /// Suspends for that many seconds; returns at once for zero, a negative number or NaN. Throws `CancellationError`
    /// as soon as the task is cancelled.
    func sleep(_ seconds: TimeInterval) async throws
    /// Suspends as ``sleep(_:)`` does, with the purpose of the wait. PulseKit sleeps only through this requirement; by
    /// default it calls ``sleep(_:)``.
    func sleep(_ seconds: TimeInterval, for purpose: SleepPurpose) async throws
    /// Whether a program advances the clock, as a test does; false by default. A recording marks the calls of such a
    /// clock, and a report keeps their durations apart from measured ones.
    var isVirtual: Bool { get }
}

extension PulseClock {
    /// False: the clock measures time.
    public var isVirtual: Bool { false }

    /// Calls ``sleep(_:)``: a clock that ignores the purpose implements only that method.
    public func sleep(_ seconds: TimeInterval, for purpose: SleepPurpose) async throws {
        try await sleep(seconds)
    }
}

/// The system's clock. ``uptime`` is its monotonic clock, which stops while the machine sleeps.
public struct SystemClock: PulseClock {
    /// Creates the system's clock.
    public init() {}

    static var wallNow: Date { Date() }

    // The clock of Swift's sleep. Darwin's CLOCK_MONOTONIC continues while the machine sleeps.
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
        // A century fits in the nanoseconds; infinity does not.
        try await Task.sleep(nanoseconds: UInt64(min(seconds, 3e9) * 1e9))
    }
}

extension PulseClock where Self == SystemClock {
    /// The system's clock.
    public static var system: SystemClock { SystemClock() }
}
