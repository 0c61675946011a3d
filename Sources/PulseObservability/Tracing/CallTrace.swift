// SPDX-License-Identifier: MIT

public import PulseCore

/// The timeline of one call: its attempts with their results, and the events in between.
///
/// Like the events of the call, it contains no header, query or body. Texts are on one line, with secrets masked.
public struct CallTrace: Sendable {
    /// One request on the network.
    public struct Attempt: Sendable {
        /// The attempt of the retry loop, counted from 1; redirects and hedges of one attempt share it.
        public let number: Int
        /// The method of the request, which a redirect may have changed.
        public let method: HTTPMethod
        /// The host that the request was sent to.
        public let host: String
        /// The id of the attempt's span, 16 hexadecimal digits: the one in the request, if a tracing plugin set it.
        public let spanID: String
        /// When it started, in seconds from the call's start.
        public let start: TimeInterval
        /// Its duration in seconds.
        public internal(set) var duration: TimeInterval
        /// The status of the response; nil if there is none.
        public internal(set) var statusCode: Int?
        /// The size of the response's body in bytes.
        public internal(set) var byteCount: Int
        /// Why there is no response; nil also for an attempt that was abandoned in favor of another.
        public internal(set) var error: PulseError.Summary?
        /// The phases of the exchange that returned the call's response, if the transport measures them; otherwise
        /// empty.
        package internal(set) var phases: [PhaseTiming]
    }

    /// An event at one moment.
    public struct Mark: Sendable {
        /// When it happened, in seconds from the call's start.
        public let time: TimeInterval
        /// The kind of the event.
        public let kind: NetworkEvent.Kind
        /// A human-readable text on one line, without secrets. Empty if the kind says everything.
        public let text: String
    }

    /// The call's id, as in its events.
    public let id: UUID
    /// The method of the call's own request.
    public let method: HTTPMethod
    /// The initial host of the call; ``Attempt/host`` includes redirects.
    public let host: String
    /// The path without its query.
    public let endpointPath: String
    /// The name under which metrics count the call, as they display it.
    public let route: String
    /// The id of the trace, 32 hexadecimal digits: the trace that a tracing plugin assigned to the call, otherwise one
    /// derived from the call's id.
    public let traceID: String
    /// The id of the span of the whole call, 16 hexadecimal digits.
    public let spanID: String
    /// The id of the caller's span that the call continues, if a tracing plugin found one.
    public let parentSpanID: String?
    /// When the call started, by the tracer's wall clock.
    public let start: Date
    /// The duration of the call, in seconds of the tracer's clock.
    public let duration: TimeInterval
    /// The result of the call.
    public let result: Result<NetworkEvent.ResponseSummary, PulseError.Summary>
    /// The first 50 attempts, in the order of their start.
    public let attempts: [Attempt]
    /// The first 50 marks, in the order of their time.
    public let marks: [Mark]
    /// The number of further attempts and marks.
    public let omittedCount: Int
}

extension CallTrace {
    /// The name for the call's span: the method and the route. A route that begins with the method is used alone.
    public var spanName: String { spanName(for: method) }

    func spanName(for method: HTTPMethod) -> String {
        let route = SeriesName.shown(route)
        let target = route.hasPrefix("\(method) ") ? route.dropFirst("\(method) ".count) : route[...]
        return (method.isOfOpenTelemetry ? "\(method) " : "HTTP ") + target
    }
}

extension HTTPMethod {
    /// Whether OpenTelemetry's conventions for HTTP know the method. Any other would create a series for each spelling.
    package var isOfOpenTelemetry: Bool {
        switch rawValue {
        case "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE": true
        default: false
        }
    }
}
