// SPDX-License-Identifier: MIT

/// The reason for which something sleeps on a ``PulseClock``, so that a clock for tests can tell the waits apart.
///
/// Open: a plugin may have purposes of its own.
public struct SleepPurpose: RawRepresentable, Hashable, Sendable {
    /// The name of the purpose, for texts.
    public let rawValue: String

    /// A purpose of that name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The deadline of a call. The sleep runs beside the call, and mostly ends before its time.
    public static let deadline = SleepPurpose(rawValue: "deadline")
    /// The limit of one step: a token refresh, a validator's recovery. It runs beside that step.
    public static let timeout = SleepPurpose(rawValue: "timeout")
    /// The wait after a failure: of the retry loop, of a validator, of the offline queue.
    public static let backoff = SleepPurpose(rawValue: "backoff")
    /// The longest wait for a connection.
    public static let connectivity = SleepPurpose(rawValue: "connectivity")
    /// The time until the next look at what no event reports, such as a journal that another process drains.
    public static let idle = SleepPurpose(rawValue: "idle")
    /// The wait for a rate limit.
    public static let rateLimit = SleepPurpose(rawValue: "rateLimit")
    /// The time before another copy of a request is sent.
    public static let hedge = SleepPurpose(rawValue: "hedge")
    /// The delay of a server that a test plays.
    public static let delay = SleepPurpose(rawValue: "delay")
    /// A sleep that names no purpose.
    public static let other = SleepPurpose(rawValue: "other")

    /// Whether the sleep only limits work that runs beside it: ``deadline`` and ``timeout``.
    public var isLimit: Bool { self == .deadline || self == .timeout }
}

extension SleepPurpose: CustomStringConvertible {
    public var description: String { rawValue }
}
