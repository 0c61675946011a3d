// SPDX-License-Identifier: MIT

public import PulseCore

/// The course of one call: when its attempts ran, how they ended, and what happened meanwhile.
///
/// Like the events that it is made of it holds no header, query or body. Texts are on one line, with secrets masked.
public struct CallTrace: Sendable {
    /// One request on the wire.
    public struct Attempt: Sendable {
        /// Of the retry loop, counted from 1; redirects and hedges of one attempt share it.
        public let number: Int
        public let host: String
        /// 16 hexadecimal digits: those that the request took along, if a tracing plugin set them.
        public let spanID: String
        /// Seconds from the call's start.
        public let start: TimeInterval
        /// Seconds.
        public internal(set) var duration: TimeInterval
        /// Nil if no answer came.
        public internal(set) var statusCode: Int?
        /// Of the answer's body.
        public internal(set) var byteCount: Int
        /// Why no answer came; nil for an attempt that was left for another one, as well.
        public internal(set) var error: ErrorSummary?
        /// Of the exchange that gave the call its answer, if the transport measures; else empty.
        public internal(set) var phases: [PhaseTiming]
    }

    /// Something that happened at one moment.
    public struct Mark: Sendable {
        /// Seconds from the call's start.
        public let time: TimeInterval
        public let kind: NetworkEvent.Kind
        /// For people; on one line, without secrets.
        public let text: String
    }

    /// The call's, as its events have it.
    public let id: UUID
    public let method: HTTPMethod
    /// Where the call began; ``Attempt/host`` tells where redirects led.
    public let host: String
    /// Without its query.
    public let endpointPath: String
    /// The name under which metrics count the call, as they show it.
    public let route: String
    /// 32 hexadecimal digits: the trace that a tracing plugin made the call part of, else made of the call's id.
    public let traceID: String
    /// 16 hexadecimal digits, for the call as a whole.
    public let spanID: String
    /// The span of the caller's that the call continues, if a tracing plugin found one.
    public let parentSpanID: String?
    /// By the tracer's wall clock.
    public let start: Date
    /// Seconds, by the tracer's clock.
    public let duration: TimeInterval
    public let result: Result<ResponseSummary, ErrorSummary>
    /// In the order in which they began; at most 50.
    public let attempts: [Attempt]
    /// At most 50.
    public let marks: [Mark]
    /// Attempts and marks beyond these.
    public let omittedCount: Int
}
