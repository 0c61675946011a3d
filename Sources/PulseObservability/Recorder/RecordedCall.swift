// SPDX-License-Identifier: MIT

public import PulseCore

/// One call as a recorder saw it: what was sent for it, what came back, and how it ended.
public struct RecordedCall: Sendable, Identifiable {
    /// Something that happened to a call between its requests.
    public struct Mark: Sendable, Hashable {
        /// The kind of a mark. Each case stands for an event of the call, such as `requestRetrying` for `retrying`.
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            /// The retry loop, the redirects and the limits.
            case retrying, retryGivenUp, redirected, rateLimited
            /// The refresh of a token, and the end of a session.
            case authRefreshStarted, authRefreshSucceeded, authRefreshFailed, sessionExpired
            /// What the cache did.
            case cacheHit, cacheMiss, cacheRevalidated, cacheStored
        }

        /// What happened.
        public let kind: Kind
        /// When it happened, in seconds from the start of the call.
        public let offset: TimeInterval
        /// Seconds that the call waits, before a retry or because of a limit; nil if it does not wait.
        public let wait: TimeInterval?
        /// What else there is to say, such as an error or a status, secrets masked.
        public let detail: String?

        /// A mark at that many seconds from the start of the call.
        public init(kind: Kind, offset: TimeInterval, wait: TimeInterval? = nil, detail: String? = nil) {
            self.kind = kind
            self.offset = offset
            self.wait = wait
            self.detail = detail
        }

        var cost: Int { 128 + (detail?.utf8.count ?? 0) }
    }

    /// The call's id, as on its events.
    public let id: UUID
    /// The path without its query.
    public let endpointPath: String
    /// The name under which metrics count the call.
    public let route: String
    /// The method of the call's own request.
    public let method: HTTPMethod
    /// The host that the call began with.
    public let host: String
    /// When the call began, by the recorder's wall clock.
    public let startedAt: Date
    /// The W3C trace that the call belongs to, if a tracing plugin set one.
    public internal(set) var traceID: String?
    /// Seconds until its end; nil while it is under way.
    public internal(set) var latency: TimeInterval?
    /// How it ended: what its event said, or without an event how its last request ended. Nil while it is under way.
    public internal(set) var outcome: Result<ResponseSummary, ErrorSummary>?
    /// The requests of the call, in the order in which they began. Those that plugins made for it in the background, or
    /// for it and others at once, are included.
    public internal(set) var exchanges: [RecordedExchange]
    /// The number of requests that are not among ``exchanges``, because there were too many.
    public internal(set) var omittedExchangeCount = 0
    /// What happened between the requests, in order; empty without events, see ``PulseRecorder/attach(to:)``.
    public internal(set) var marks: [Mark]

    /// A call with these values; by default one that is under way.
    public init(
        id: UUID, endpointPath: String, route: String, method: HTTPMethod, host: String, startedAt: Date,
        traceID: String? = nil, latency: TimeInterval? = nil, outcome: Result<ResponseSummary, ErrorSummary>? = nil,
        exchanges: [RecordedExchange] = [], marks: [Mark] = []
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
    }

    /// The status that the call ended with, also in an error; nil while it is under way or if there was none.
    public var statusCode: Int? {
        switch outcome {
        case .success(let response): response.statusCode
        case .failure(let error): error.statusCode
        case nil: nil
        }
    }

    /// The bytes that it takes in memory, approximately.
    var cost: Int {
        512 + endpointPath.utf8.count + route.utf8.count + host.utf8.count + costOfEnd
            + marks.reduce(0) { $0 + $1.cost } + exchanges.reduce(0) { $0 + $1.cost }
    }

    /// The part of it that its end may change.
    var costOfEnd: Int {
        var cost = traceID?.utf8.count ?? 0
        if case .failure(let error) = outcome { cost += error.message.utf8.count }
        return cost
    }
}
