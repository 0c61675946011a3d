// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseEventBus {
    /// A test that decides which events a subscription receives.
    ///
    /// ```swift
    /// bus.subscribe(matching: .failures.or(.kinds(.warning, .pinningFailed)))
    /// bus.subscribe(matching: .route("GetUser").and(.kinds(.requestRetrying)))
    /// bus.subscribe(matching: PulseEventBus.Filter { $0.call?.attempt ?? 0 > 1 })
    /// ```
    ///
    /// The test runs synchronously in the code that emits the event, on any thread. It must be short and must not wait.
    public struct Filter: Sendable {
        private let test: (@Sendable (NetworkEvent) -> Bool)?

        /// Creates a filter with a custom test, which must be short and must not wait: see above for where it runs.
        public init(_ test: @escaping @Sendable (NetworkEvent) -> Bool) {
            self.test = test
        }

        private init() {
            test = nil
        }

        /// Whether an event passes the filter.
        public func matches(_ event: NetworkEvent) -> Bool {
            test?(event) ?? true
        }

        /// Every event.
        public static let all = Filter()

        /// The events of these kinds.
        public static func kinds(_ kinds: NetworkEvent.Kind...) -> Filter {
            let kinds = Set(kinds)
            return Filter { kinds.contains($0.kind) }
        }

        /// All events of one call, including those of separate requests that its plugins made.
        public static func call(_ id: UUID) -> Filter {
            Filter { event in
                guard let call = event.call else { return false }
                return call.rootID == id || call.id == id
            }
        }

        /// The events of calls with that route, under which metrics count them.
        public static func route(_ route: String) -> Filter {
            Filter { $0.call?.route == route }
        }

        /// The events of calls to that host, and its pinning failures. The case of letters is ignored.
        public static func host(_ host: String) -> Filter {
            let host = host.lowercased()
            return Filter { event in
                if case .pinningFailed(let failed, _) = event { return failed.lowercased() == host }
                return event.call?.host.lowercased() == host
            }
        }

        /// The completions of failed calls. A cancellation is not a failure.
        public static let failures = Filter { event in
            guard case .requestCompleted(.failure(let error), _, _) = event else { return false }
            return error.kind != .cancelled
        }

        /// The events that pass both filters.
        public func and(_ other: Filter) -> Filter {
            Filter { self.matches($0) && other.matches($0) }
        }

        /// The events that pass at least one of the filters.
        public func or(_ other: Filter) -> Filter {
            Filter { self.matches($0) || other.matches($0) }
        }

        /// The events that do not pass this filter.
        public var inverted: Filter {
            Filter { !self.matches($0) }
        }
    }
}
