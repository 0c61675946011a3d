// SPDX-License-Identifier: MIT

/// The reason for a sleep on a ``PulseClock``, so that a test clock can distinguish the waits.
///
/// Open: a plugin may define its own purposes.
public struct SleepPurpose: RawRepresentable, Hashable, Sendable {
    /// The name of the purpose, for texts.
    public let rawValue: String

    /// Creates a purpose with that name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The deadline of a call. The sleep runs beside the call, which usually ends first.
    public static let deadline = SleepPurpose(rawValue: "deadline")
    /// The limit of one step, such as a token refresh or a validator's recovery. It runs beside that step.
    public static let timeout = SleepPurpose(rawValue: "timeout")
    /// The wait after a failure: by the retry loop, a validator or the offline queue.
    public static let backoff = SleepPurpose(rawValue: "backoff")
    /// The maximum wait for a connection.
    public static let connectivity = SleepPurpose(rawValue: "connectivity")
    /// The time until the next check for changes that no event reports, such as those to a journal that another process
    /// drains.
    public static let idle = SleepPurpose(rawValue: "idle")
    /// The wait for a rate limit.
    public static let rateLimit = SleepPurpose(rawValue: "rateLimit")
    /// The time before a hedged request is sent.
    public static let hedge = SleepPurpose(rawValue: "hedge")
    /// The response delay of a test server.
    public static let delay = SleepPurpose(rawValue: "delay")
    /// A sleep without a purpose.
    public static let other = SleepPurpose(rawValue: "other")

    /// Whether the sleep only limits work that runs beside it: ``deadline`` and ``timeout``.
    public var isLimit: Bool { self == .deadline || self == .timeout }
}

extension SleepPurpose: CustomStringConvertible {
    public var description: String { rawValue }
}
