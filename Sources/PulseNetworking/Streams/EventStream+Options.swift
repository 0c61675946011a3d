// SPDX-License-Identifier: MIT

public import PulseCore

extension EventStream {
    /// Settings of an event stream.
    public struct Options: Sendable {
        /// Whether and how a stream reconnects after its connection was lost or ended. Nil, the default, is
        /// ``Reconnection/standard`` if the request may be repeated, because its method is idempotent or it has an
        /// idempotency key, and ``Reconnection/never`` otherwise.
        public var reconnection: Reconnection?
        /// The ID to resume after, for example after a relaunch of the app: the first connection sends it as
        /// `Last-Event-ID`. Nil by default. An ID with a control character, or of more than 4,096 bytes, throws
        /// ``PulseError/invalidRequest(reason:)``. Such an ID from a server is ignored: the stream resumes after the
        /// last one that can be sent.
        public var lastEventID: String?
        /// The data that ends the stream instead of being an event, such as `[DONE]`. If it is set, an end without it
        /// counts as a lost connection. Nil by default.
        public var sentinel: String?
        /// The maximum size of one event in bytes; a larger one throws ``PulseError/responseTooLarge(limit:)``. 8 MiB
        /// by default.
        public var maxEventSize = 8 << 20

        /// Creates options with the defaults.
        public init() {}

        /// A copy with one setting changed: `.init().with(\.sentinel, value: "[DONE]")`.
        public func with<Value>(_ setting: WritableKeyPath<Options, Value>, value: Value) -> Options {
            var copy = self
            copy[keyPath: setting] = value
            return copy
        }

        /// How a stream reconnects.
        ///
        /// After a connection that ended cleanly with an event it waits `U(1, 1.2) × min(maxDelay, delay)` seconds.
        /// After a failure it waits `U(0.5, 1) × min(maxDelay, delay × 2ⁿ⁺¹)` seconds, where n is the number of
        /// earlier failures since such an end, or since a connection that stayed open for 60 seconds. From the second
        /// failure on, `delay` counts as at least half a second. It never waits less than the server's `retry` or
        /// `Retry-After`, up to ``maxServerDelay``, nor less than 0.1 seconds. The wait ends early when the network
        /// comes back.
        public struct Reconnection: Sendable {
            /// The base of the wait in seconds, 0 or more; the `retry` of a server replaces it. 3 by default.
            public var delay: TimeInterval = 3
            /// Maximum computed wait in seconds. 30 by default.
            public var maxDelay: TimeInterval = 30
            /// Maximum wait in seconds that a server may request with `retry` or `Retry-After`. If it requests more,
            /// the stream waits for that long and emits ``NetworkEvent/warning(_:)``. 3,600 by default.
            public var maxServerDelay: TimeInterval = 3600
            /// Maximum number of reconnects without an event in between. Nil, the default, means no limit.
            public var maxAttempts: Int?
            /// Statuses after which a stream that has been open reconnects. Before that, and for other statuses, the
            /// stream fails. 429, 502, 503 and 504 by default.
            public var statuses = RequestOptions.AcceptedStatuses.only(429, 502, 503, 504)

            /// The defaults.
            public static let standard = Reconnection()
            /// No reconnection: the stream has one connection.
            public static let never = standard.with(\.maxAttempts, value: 0)

            /// Creates settings with the defaults.
            public init() {}

            /// A copy with one setting changed.
            public func with<Value>(_ setting: WritableKeyPath<Reconnection, Value>, value: Value) -> Reconnection {
                var copy = self
                copy[keyPath: setting] = value
                return copy
            }
        }
    }
}

extension EventStream.Options {
    /// Servers limit the size of all header fields, many to 8 KiB.
    private static let maxIDSize = 4096

    /// Whether a header field can carry the id of an event.
    static func isSendable(_ id: String) -> Bool {
        id.utf8.count <= maxIDSize && id.isHTTPFieldValue
    }

    /// Describes the first invalid setting; nil if all are valid.
    var fault: String? {
        let reconnection = reconnection ?? .standard
        guard reconnection.delay >= 0, reconnection.delay < .infinity else {
            return "the delay is \(reconnection.delay), and no number of seconds from 0"
        }
        if !(reconnection.maxDelay > 0) {
            return "the maxDelay is \(reconnection.maxDelay), and no positive number of seconds"
        }
        if let attempts = reconnection.maxAttempts, attempts < 0 { return "maxAttempts is \(attempts)" }
        if maxEventSize < 1 {
            return "the maxEventSize is \(maxEventSize), and no positive number of bytes"
        }
        if !(reconnection.maxServerDelay >= 0) {
            return "the maxServerDelay is \(reconnection.maxServerDelay), and no number of seconds from 0"
        }
        if let lastEventID, !Self.isSendable(lastEventID) {
            return "the lastEventID contains a control character, or has more than \(Self.maxIDSize) bytes"
        }
        return nil
    }
}
