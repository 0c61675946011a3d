// SPDX-License-Identifier: MIT

// All times are stored as seconds: the oldest supported systems have no `Duration`. Properties take one through
// `TimeInterval(_:)`; chained setters, and functions whose main argument is a time, have an overload for it.

@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)  // newer: Duration
extension TimeInterval {
    /// The seconds of a duration: `client.get("/users", timeout: TimeInterval(limit))`.
    public init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self = Double(seconds) + Double(attoseconds) / 1e18
    }
}

@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)  // newer: Duration
extension RequestOptions {
    /// A copy with one time set: `.init().with(\.timeout, value: .seconds(5))`.
    public func with(_ field: WritableKeyPath<RequestOptions, TimeInterval?>, value: Duration) -> RequestOptions {
        with(field, value: TimeInterval(value))
    }
}

@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)  // newer: Duration
extension PulseConfiguration {
    /// Returns a copy with one time changed: `.with(\.timeout, value: .seconds(20))`.
    public func with(
        _ setting: WritableKeyPath<PulseConfiguration, TimeInterval>, value: Duration
    ) -> PulseConfiguration {
        with(setting, value: TimeInterval(value))
    }

    /// Returns a copy with one time changed: `.with(\.deadline, value: .seconds(60))`.
    public func with(
        _ setting: WritableKeyPath<PulseConfiguration, TimeInterval?>, value: Duration
    ) -> PulseConfiguration {
        with(setting, value: TimeInterval(value))
    }
}

@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)  // newer: Duration
extension Request {
    /// Returns a copy with that idle timeout: `.timeout(.seconds(5))`.
    public func timeout(_ duration: Duration) -> Request {
        timeout(TimeInterval(duration))
    }

    /// Returns a copy with that deadline for the whole call: `.deadline(.seconds(30))`.
    public func deadline(_ duration: Duration) -> Request {
        deadline(TimeInterval(duration))
    }
}
