// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseRecording {
    /// A recorded call: its requests, their responses, and its outcome.
    public struct Call: Sendable, Identifiable {
        /// An event of a call between its requests.
        package struct Mark: Sendable, Hashable {
            /// The kind of a mark. Each case corresponds to an event of the call, such as `requestRetrying` for
            /// `retrying`.
            package enum Kind: String, Sendable, Hashable, CaseIterable {
                /// Events of the retry loop, the redirects and the limits.
                case retrying, retryGivenUp, redirected, rateLimited
                /// The refresh of a token, and the end of a session.
                case authRefreshStarted, authRefreshSucceeded, authRefreshFailed, sessionExpired
                /// Events of the cache.
                case cacheHit, cacheMiss, cacheRevalidated, cacheStored
                /// The states of the socket whose handshake the call is, and the end of its connection. They occur
                /// after the end of the call.
                case socketStateChanged, socketDisconnected
            }

            /// The kind of the event.
            package let kind: Kind
            /// When it happened, in seconds from the start of the call.
            package let offset: TimeInterval
            /// Seconds that the call waits, before a retry or because of a limit; nil if it does not wait.
            package let wait: TimeInterval?
            /// Further information, such as an error or a status, secrets masked.
            package let detail: String?

            /// Creates a mark at `offset` seconds from the start of the call.
            package init(kind: Kind, offset: TimeInterval, wait: TimeInterval? = nil, detail: String? = nil) {
                self.kind = kind
                self.offset = offset
                self.wait = wait
                self.detail = detail
            }

            var cost: Int { 128 + (detail?.utf8.count ?? 0) }
        }

        /// The call's id, as in its events.
        public let id: UUID
        /// The path without its query.
        public let endpointPath: String
        /// The name under which metrics count the call.
        public let route: String
        /// The method of the call's own request.
        public let method: HTTPMethod
        /// The initial host of the call.
        public let host: String
        /// When the call started, by the recorder's wall clock.
        public let startedAt: Date
        /// The W3C trace that the call belongs to, if a tracing plugin set one.
        public internal(set) var traceID: String?
        /// Seconds until its end; nil while it is in progress.
        public internal(set) var latency: TimeInterval?
        /// The outcome according to the call's event, or without one the outcome of its last request. Nil while the
        /// call is in progress.
        public internal(set) var outcome: Result<NetworkEvent.ResponseSummary, PulseError.Summary>?
        /// The requests of the call, in the order of their start. Includes requests that plugins made for it in the
        /// background, or for it and other calls at once.
        public internal(set) var exchanges: [Exchange]
        /// The number of requests dropped from ``exchanges``, because there were too many.
        public internal(set) var omittedExchangeCount = 0
        /// The events between the requests, in order, and those of a socket after its handshake. Empty without events,
        /// see ``PulseRecorder/attach(to:)``.
        package internal(set) var marks: [Mark]
        /// Whether a program advances the clock of the call's client, see `PulseClock/isVirtual`: its durations are not
        /// comparable with measured ones.
        package let isInVirtualTime: Bool

        /// Creates a call with these values; by default one in progress.
        package init(
            id: UUID, endpointPath: String, route: String, method: HTTPMethod, host: String, startedAt: Date,
            traceID: String? = nil, latency: TimeInterval? = nil,
            outcome: Result<NetworkEvent.ResponseSummary, PulseError.Summary>? = nil,
            exchanges: [Exchange] = [], marks: [Mark] = [], isInVirtualTime: Bool = false
        ) {
            self.id = id
            self.endpointPath = endpointPath
            self.route = route
            self.method = method
            self.host = host
            self.startedAt = startedAt
            self.traceID = traceID
            self.latency = latency
            self.outcome = outcome
            self.exchanges = exchanges
            self.marks = marks
            self.isInVirtualTime = isInVirtualTime
        }

        /// The final status of the call, also of an error; nil while the call is in progress or if there was none.
        public var statusCode: Int? {
            switch outcome {
            case .success(let response): response.statusCode
            case .failure(let error): error.statusCode
            case nil: nil
            }
        }

        /// The approximate size in memory, in bytes.
        var cost: Int {
            512 + endpointPath.utf8.count + route.utf8.count + host.utf8.count + costOfEnd
                + marks.reduce(0) { $0 + $1.cost } + exchanges.reduce(0) { $0 + $1.cost }
        }

        /// The part of the size that the end of the call may change.
        var costOfEnd: Int {
            var cost = traceID?.utf8.count ?? 0
            if case .failure(let error) = outcome { cost += error.message.utf8.count }
            return cost
        }
    }
}
