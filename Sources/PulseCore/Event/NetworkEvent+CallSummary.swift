// SPDX-License-Identifier: MIT

extension NetworkEvent {
    /// The call of an event: its identity, its attempt and its trace, without headers, query or body.
    public struct CallSummary: Sendable {
        /// The constant part of the summaries of a call. It is one shared object, since events are many and copying a
        /// reference is cheap.
        package final class Identity: Sendable, Equatable {
            let id: UUID
            /// The id of the call whose start and end were emitted: `id`, or for detached work, that of its call.
            let rootID: UUID
            let endpointPath: String
            let route: String
            let method: HTTPMethod
            let host: String
            let isInVirtualTime: Bool

            init(
                id: UUID, rootID: UUID, endpointPath: String, route: String, method: HTTPMethod, host: String,
                isInVirtualTime: Bool
            ) {
                self.id = id
                self.rootID = rootID
                self.endpointPath = endpointPath
                self.route = route
                self.method = method
                self.host = host
                self.isInVirtualTime = isInVirtualTime
            }

            func rebased(onto host: String, by method: HTTPMethod) -> Identity {
                Identity(
                    id: id, rootID: rootID, endpointPath: endpointPath, route: route, method: method, host: host,
                    isInVirtualTime: isInVirtualTime)
            }

            func caused(by rootID: UUID) -> Identity {
                Identity(
                    id: id, rootID: rootID, endpointPath: endpointPath, route: route, method: method, host: host,
                    isInVirtualTime: isInVirtualTime)
            }

            // Compares public values only: a test could not create the others.
            package static func == (one: Identity, other: Identity) -> Bool {
                one === other
                    || one.id == other.id && one.endpointPath == other.endpointPath && one.route == other.route
                        && one.method == other.method && one.host == other.host
            }
        }

        /// Boxed like the identity: most calls have no trace, and need no space for its strings.
        private final class Span: Sendable, Equatable {
            let traceID: String?
            let parentSpanID: String?
            let spanID: String?

            init(traceID: String?, parentSpanID: String?, spanID: String?) {
                self.traceID = traceID
                self.parentSpanID = parentSpanID
                self.spanID = spanID
            }

            static func == (one: Span, other: Span) -> Bool {
                one.traceID == other.traceID && one.parentSpanID == other.parentSpanID && one.spanID == other.spanID
            }
        }

        private var identity: Identity
        private let span: Span?
        /// The number of the attempt in the retry loop, counted from 1.
        public let attempt: Int
        /// The seconds until the next attempt; 0 in every event except ``NetworkEvent/requestRetrying(_:_:attempt:)``.
        public let retryDelay: TimeInterval

        /// Creates a summary, for tests and for tools that create events. `retryDelay` is in seconds.
        public init(
            id: UUID, endpointPath: String, route: String, method: HTTPMethod, host: String, attempt: Int = 1,
            retryDelay: TimeInterval = 0, traceID: String? = nil, parentSpanID: String? = nil, spanID: String? = nil
        ) {
            identity = Identity(
                id: id, rootID: id, endpointPath: endpointPath, route: route, method: method, host: host,
                isInVirtualTime: false)
            self.attempt = attempt
            self.retryDelay = retryDelay
            let isTraced = traceID != nil || parentSpanID != nil || spanID != nil
            span = isTraced ? Span(traceID: traceID, parentSpanID: parentSpanID, spanID: spanID) : nil
        }

        init(
            _ identity: Identity, attempt: Int = 1, retryDelay: TimeInterval = 0, of trace: Call.Trace?,
            spanID: String? = nil
        ) {
            self.identity = identity
            self.attempt = attempt
            self.retryDelay = retryDelay
            span = trace.map { Span(traceID: $0.id, parentSpanID: $0.parentSpanID, spanID: spanID) }
        }

        /// The identifier of the call, the same in all its events. Requests that plugins make in the background, or for
        /// several calls at once, have their own identifier. A socket has its own too, the same over all its
        /// connections.
        public var id: UUID { identity.id }
        /// The identifier of the call that caused the event, as in the start and end events of that call.
        package var rootID: UUID { identity.rootID }
        /// Whether the clock of the call's client is advanced by a program, not by the system.
        package var isInVirtualTime: Bool { identity.isInVirtualTime }
        /// The same summary for an event that the call with that id caused.
        package func caused(by rootID: UUID) -> CallSummary {
            var copy = self
            copy.identity = identity.caused(by: rootID)
            return copy
        }
        /// The path of the endpoint, without its query, and with secret parameters such as `;jsessionid=…` masked.
        public var endpointPath: String { identity.endpointPath }
        /// The name of the call in metrics: a method and a template, a type's name, or the name set in its options.
        public var route: String { identity.route }
        /// The method of the request; a redirect may have changed it.
        public var method: HTTPMethod { identity.method }
        /// The host that the request goes to; a redirect may have changed it.
        public var host: String { identity.host }
        /// The identifier of the W3C trace of the call, if a tracing plugin set one.
        public var traceID: String? { span?.traceID }
        /// The identifier of the caller's span that the trace continues, if the plugin found one.
        public var parentSpanID: String? { span?.parentSpanID }
        /// The identifier of the span of this request, if a tracing plugin set one. Only
        /// ``NetworkEvent/attemptStarted(_:)`` and ``NetworkEvent/responseReceived(_:status:byteCount:)`` have it.
        public var spanID: String? { span?.spanID }
    }
}

extension NetworkEvent.CallSummary: Hashable {
    public static func == (one: NetworkEvent.CallSummary, other: NetworkEvent.CallSummary) -> Bool {
        one.identity == other.identity && one.attempt == other.attempt && one.retryDelay == other.retryDelay
            && one.span == other.span
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(attempt)
    }
}
