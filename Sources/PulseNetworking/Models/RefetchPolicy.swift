// SPDX-License-Identifier: MIT

public import PulseCore

/// When a model requests its value again automatically, and how long an unused value is kept.
///
/// Everything is off by default. A trigger requests only a stale value, while the model is visible: between
/// ``RequestModel/appear()`` and ``RequestModel/disappear()``, which `tracksVisibility(of:)` calls in SwiftUI.
public struct RefetchPolicy: Sendable, Hashable {
    /// Events that make a visible model request a stale value.
    public struct Triggers: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public let rawValue: Int

        /// Creates a set of those bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// The model becomes visible. Also requests the first value.
        public static let appear = Triggers(rawValue: 1)
        /// The network is restored. Changes within a second count as one. Requests no first value.
        public static let reconnect = Triggers(rawValue: 2)
        /// The app enters the foreground. Requests no first value.
        public static let foreground = Triggers(rawValue: 4)
    }

    /// No triggers: the model sends only explicit requests.
    public static let manual = RefetchPolicy()

    /// The seconds after which a value is stale. With 0, the default, it is stale at once; infinity means never.
    public var staleAfter: TimeInterval
    /// The events that make a model request a stale value again. None by default.
    public var triggers: Triggers
    /// The seconds from the end of one request to the next, while the model is visible. Nil, the default, and numbers
    /// that are not positive mean never. A fresh value delays the next request until it is stale. A cache may respond,
    /// as the endpoint's cache option allows.
    public var every: TimeInterval?
    /// The seconds for which a value without a model is kept, at most until ``PulseClient/RequestStore/removeAll()``.
    /// With 0, the default, it is dropped at once. If several models share a request, the longest time counts.
    public var retention: TimeInterval

    /// Creates a policy; without arguments it is ``manual``.
    public init(
        staleAfter: TimeInterval = 0, on triggers: Triggers = [], every: TimeInterval? = nil,
        retention: TimeInterval = 0
    ) {
        self.staleAfter = staleAfter
        self.triggers = triggers
        self.every = every
        self.retention = retention
    }

    /// The period, if there is one.
    var period: TimeInterval? {
        guard let every, every > 0 else { return nil }
        return every
    }

    /// The seconds for which a value is fresh.
    var freshness: TimeInterval { staleAfter > 0 ? staleAfter : 0 }
}
