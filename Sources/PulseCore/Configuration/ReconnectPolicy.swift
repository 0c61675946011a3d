// SPDX-License-Identifier: MIT

/// How an event stream or a socket reconnects after its connection was lost.
///
/// ```swift
/// let options = SocketOptions(reconnect: ReconnectPolicy(maxDelay: 10, maxAttempts: 20))
/// ```
///
/// Before attempt n since the connection was last steady, it waits `U(0.5, 1) × min(maxDelay, delay × 2ⁿ)` seconds.
/// From the second attempt on, ``delay`` counts as at least half a second. It never waits less than the server asks
/// for, up to ``maxServerDelay``, nor less than 0.1 seconds. The wait ends early when the network comes back.
public struct ReconnectPolicy: Sendable, Hashable {
    /// The base of the wait in seconds, 0 or more; the `retry` field of an event stream replaces it. 1 by default.
    public var delay: TimeInterval
    /// The maximum computed wait in seconds. 30 by default.
    public var maxDelay: TimeInterval
    /// The maximum wait in seconds that a server may request with `Retry-After` or `retry`. If it requests more, the
    /// client waits for that long and emits ``NetworkEvent/warning(_:)``. 3,600 by default.
    public var maxServerDelay: TimeInterval
    /// The maximum number of attempts in a row: a socket counts them since it was last steady, an event stream since
    /// its last event. Nil, the default, means no limit.
    public var maxAttempts: Int?
    /// Seconds after which an open connection counts as steady: the waits start over when it is lost. 10 by default.
    public var resetsAfter: TimeInterval

    /// Creates a policy; without arguments, the one of sockets.
    public init(
        delay: TimeInterval = 1, maxDelay: TimeInterval = 30, maxServerDelay: TimeInterval = 3600,
        maxAttempts: Int? = nil, resetsAfter: TimeInterval = 10
    ) {
        self.delay = delay
        self.maxDelay = maxDelay
        self.maxServerDelay = maxServerDelay
        self.maxAttempts = maxAttempts
        self.resetsAfter = resetsAfter
    }

    /// The default of sockets.
    public static let socket = ReconnectPolicy()
    /// The default of event streams: a ``delay`` of 3 seconds (WHATWG HTML, section 9.2.3), steady after 60.
    public static let eventStream = ReconnectPolicy(delay: 3, resetsAfter: 60)
    /// No reconnection: there is one connection.
    public static let never = ReconnectPolicy(maxAttempts: 0)

    /// A copy with one setting changed.
    public func with<Value>(_ setting: WritableKeyPath<ReconnectPolicy, Value>, value: Value) -> ReconnectPolicy {
        var copy = self
        copy[keyPath: setting] = value
        return copy
    }
}

extension ReconnectPolicy {
    private static let minWait: TimeInterval = 0.1
    /// The minimum base of the backoff after several failures, in seconds: a server may request one immediate attempt,
    /// but not a backoff that does not grow.
    private static let minBase: TimeInterval = 0.5

    /// The wait after a failure, in seconds.
    ///
    /// - Parameter attempt: the number of the attempt that follows, from 1.
    /// - Parameter delay: the base, if the server replaces the policy's.
    /// - Parameter asked: the wait in seconds that the server requests.
    /// - Parameter unit: a random number in 0..<1.
    package func wait(
        beforeAttempt attempt: Int, delay: TimeInterval? = nil, atLeast asked: TimeInterval?, unit: Double
    ) -> TimeInterval {
        let delay = delay ?? self.delay
        let base = attempt > 1 ? max(delay, Self.minBase) : delay
        return wait(min(maxDelay, base * pow(2, Double(attempt))) * (0.5 + unit / 2), atLeast: asked)
    }

    /// The computed wait, or a longer one that the server requests.
    package func wait(_ computed: TimeInterval, atLeast asked: TimeInterval?) -> TimeInterval {
        max(computed, min(asked.flatMap { $0 < .infinity ? $0 : nil } ?? 0, maxServerDelay), Self.minWait)
    }

    /// The wait that the server requests, if it exceeds the limit.
    package func refusedWait(_ asked: TimeInterval?) -> TimeInterval? {
        asked.flatMap { $0 > maxServerDelay && $0 < .infinity ? $0 : nil }
    }

    /// Describes the first invalid setting; nil if all are valid.
    package var fault: String? {
        let durations = [("delay", delay), ("maxServerDelay", maxServerDelay), ("resetsAfter", resetsAfter)]
        if let (name, value) = durations.first(where: { !($0.1 >= 0) }) {
            return "the \(name) is \(value), and no number of seconds from 0"
        }
        if delay == .infinity { return "the delay is infinite" }
        if !(maxDelay > 0) { return "the maxDelay is \(maxDelay), and no positive number of seconds" }
        return maxAttempts.flatMap { $0 < 0 ? "the maxAttempts are \($0), and no number from 0" : nil }
    }
}
