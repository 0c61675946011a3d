// SPDX-License-Identifier: MIT

public import PulseCore

extension EventStream {
    /// Settings of an event stream.
    public struct Options: Sendable {
        /// Whether and how a stream reconnects after its connection was lost or ended. Nil, the default, is
        /// `.eventStream` if the request may be repeated, because its method is idempotent or it has an idempotency
        /// key, and `.never` otherwise. After a connection that ended cleanly with an event, the stream waits
        /// `U(1, 1.2) × min(maxDelay, delay)` seconds, and its waits start over.
        public var reconnect: ReconnectPolicy?
        /// Statuses after which a stream that has been open reconnects. Before that, and for other statuses, the
        /// stream fails. 429, 502, 503 and 504 by default.
        public var reconnectStatuses = RequestOptions.AcceptedStatuses.only(429, 502, 503, 504)
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
        if let fault = reconnect?.fault { return fault }
        if maxEventSize < 1 {
            return "the maxEventSize is \(maxEventSize), and no positive number of bytes"
        }
        if let lastEventID, !Self.isSendable(lastEventID) {
            return "the lastEventID contains a control character, or has more than \(Self.maxIDSize) bytes"
        }
        return nil
    }
}
