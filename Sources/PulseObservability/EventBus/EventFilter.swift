// SPDX-License-Identifier: MIT

public import PulseCore

/// Which events a subscription gets.
///
/// ```swift
/// bus.events(matching: .failures.or(.kinds(.warning, .pinningFailed)))
/// bus.events(matching: .route("GetUser").and(.kinds(.requestRetrying)))
/// bus.events(matching: EventFilter { $0.call?.attempt ?? 0 > 1 })
/// ```
///
/// It is asked in place by the code that emits the event, on any thread: a filter of one's own must be short and must not
/// wait.
public struct EventFilter: Sendable {
    private let test: (@Sendable (NetworkEvent) -> Bool)?

    public init(_ test: @escaping @Sendable (NetworkEvent) -> Bool) {
        self.test = test
    }

    private init() {
        test = nil
    }

    public func matches(_ event: NetworkEvent) -> Bool {
        test?(event) ?? true
    }

    public static let all = EventFilter()

    public static func kinds(_ kinds: NetworkEvent.Kind...) -> EventFilter {
        let kinds = Set(kinds)
        return EventFilter { kinds.contains($0.kind) }
    }

    /// All events of one call, those of requests that plugins made apart from it too.
    public static func call(_ id: UUID) -> EventFilter {
        EventFilter { event in
            guard let call = event.call else { return false }
            return call.rootID == id || call.id == id
        }
    }

    /// The events of calls under that name in the metrics.
    public static func route(_ route: String) -> EventFilter {
        EventFilter { $0.call?.route == route }
    }

    /// The events of calls to that host, letters in either case, and its failed pins.
    public static func host(_ host: String) -> EventFilter {
        let host = host.lowercased()
        return EventFilter { event in
            if case .pinningFailed(let failed, _) = event { return failed.lowercased() == host }
            return event.call?.host.lowercased() == host
        }
    }

    /// Calls that end in an error, a cancellation apart.
    public static let failures = EventFilter { event in
        guard case .requestCompleted(.failure(let error), _, _) = event else { return false }
        return error.kind != .cancelled
    }

    public func and(_ other: EventFilter) -> EventFilter {
        EventFilter { self.matches($0) && other.matches($0) }
    }

    public func or(_ other: EventFilter) -> EventFilter {
        EventFilter { self.matches($0) || other.matches($0) }
    }

    public var inverted: EventFilter {
        EventFilter { !self.matches($0) }
    }
}
