// SPDX-License-Identifier: MIT

public import PulseCore

/// One call as a recorder saw it: what was sent for it, what came back, and how it ended.
public struct RecordedCall: Sendable, Identifiable {
    /// Something that happened to a call between its requests.
    public struct Mark: Sendable, Hashable {
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            case retrying, retryGivenUp, redirected, rateLimited
            case authRefreshStarted, authRefreshSucceeded, authRefreshFailed, sessionExpired
            case cacheHit, cacheMiss, cacheRevalidated, cacheStored
        }

        public let kind: Kind
        /// Seconds from the start of the call.
        public let offset: TimeInterval
        /// Seconds that the call waits: before a retry, or because a limit says so.
        public let wait: TimeInterval?
        /// What there is to say besides, secrets masked.
        public let detail: String?

        public init(kind: Kind, offset: TimeInterval, wait: TimeInterval? = nil, detail: String? = nil) {
            self.kind = kind
            self.offset = offset
            self.wait = wait
            self.detail = detail
        }

        var cost: Int { 128 + (detail?.utf8.count ?? 0) }
    }

    /// The same as on the call's events.
    public let id: UUID
    /// Without its query.
    public let endpointPath: String
    /// The name under which metrics count the call.
    public let route: String
    public let method: HTTPMethod
    public let host: String
    /// By the recorder's clock.
    public let startedAt: Date
    /// The W3C trace the call belongs to, if a tracing plugin set one.
    public internal(set) var traceID: String?
    /// Seconds until its end; nil while it is under way.
    public internal(set) var latency: TimeInterval?
    /// How it ended: what its event said, or without an event how its last request ended. Nil while it is under way.
    public internal(set) var outcome: Result<ResponseSummary, ErrorSummary>?
    /// Its requests, in the order in which they began: those too that plugins made for it in the background, or for it and
    /// others at once.
    public internal(set) var exchanges: [RecordedExchange]
    /// Requests that are not among ``exchanges``, because there were too many.
    public internal(set) var omittedExchangeCount = 0
    /// In the order in which they happened; none without events, see ``PulseRecorder/attach(to:)``.
    public internal(set) var marks: [Mark]

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

    /// The status it ended with, of an error too.
    public var statusCode: Int? {
        switch outcome {
        case .success(let response): response.statusCode
        case .failure(let error): error.statusCode
        case nil: nil
        }
    }

    /// What it takes in memory, about.
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
