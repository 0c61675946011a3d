// SPDX-License-Identifier: MIT

public import PulseCore

/// The course of one call: when its attempts ran, how they ended, and what happened meanwhile.
///
/// Like the events that it is made of, it holds no header, query or body. Texts are on one line, with secrets masked.
public struct CallTrace: Sendable {
    /// One request on the wire.
    public struct Attempt: Sendable {
        /// The attempt of the retry loop, counted from 1; redirects and hedges of one attempt share it.
        public let number: Int
        /// The method of the request, which a redirect may have changed.
        public let method: HTTPMethod
        /// The host that the request went to.
        public let host: String
        /// The id of the attempt's span, 16 hexadecimal digits: the one that the request carried, if a tracing plugin
        /// set it.
        public let spanID: String
        /// When it began, in seconds from the call's start.
        public let start: TimeInterval
        /// How long it took, in seconds.
        public internal(set) var duration: TimeInterval
        /// The status of the answer; nil if none came.
        public internal(set) var statusCode: Int?
        /// The bytes of the answer's body.
        public internal(set) var byteCount: Int
        /// Why no answer came; nil also for an attempt that was given up in favor of another.
        public internal(set) var error: ErrorSummary?
        /// The phases of the exchange that gave the call its answer, if the transport measures them; else empty.
        public internal(set) var phases: [PhaseTiming]
    }

    /// Something that happened at one moment.
    public struct Mark: Sendable {
        /// When it happened, in seconds from the call's start.
        public let time: TimeInterval
        /// The kind of the event that told it.
        public let kind: NetworkEvent.Kind
        /// What happened, for people; on one line, without secrets. May be empty: then the kind says it all.
        public let text: String
    }

    /// The call's id, as on its events.
    public let id: UUID
    /// The method of the call's own request.
    public let method: HTTPMethod
    /// The host that the call began with; ``Attempt/host`` tells where redirects led.
    public let host: String
    /// The path without its query.
    public let endpointPath: String
    /// The name under which metrics count the call, as they show it.
    public let route: String
    /// The id of the trace, 32 hexadecimal digits: the trace that a tracing plugin made the call part of, else one made
    /// of the call's id.
    public let traceID: String
    /// The id of the span of the whole call, 16 hexadecimal digits.
    public let spanID: String
    /// The id of the caller's span that the call continues, if a tracing plugin found one.
    public let parentSpanID: String?
    /// When the call began, by the tracer's wall clock.
    public let start: Date
    /// How long the call took, in seconds of the tracer's clock.
    public let duration: TimeInterval
    /// How the call ended.
    public let result: Result<ResponseSummary, ErrorSummary>
    /// The first 50 attempts, in the order in which they began.
    public let attempts: [Attempt]
    /// The first 50 marks, in the order in which they happened.
    public let marks: [Mark]
    /// The number of attempts and marks beyond these.
    public let omittedCount: Int
}

extension CallTrace {
    /// The name for the call's span: the method and the route, which may begin with the method itself.
    public var spanName: String { spanName(for: method) }

    func spanName(for method: HTTPMethod) -> String {
        let route = SeriesName.shown(route)
        return route.hasPrefix("\(method) ") ? route : "\(method) \(route)"
    }
}
