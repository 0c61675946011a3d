// SPDX-License-Identifier: MIT

import PulseCore

/// Whose circuit it is.
enum CircuitKey: Hashable, Sendable {
    /// An origin as a value, since making its text would cost more than the rest of a call's way through the breaker.
    case origin(Origin)
    case name(String)

    var name: String {
        switch self {
        case .origin(let origin): origin.description
        case .name(let name): name
        }
    }
}

/// All circuits of a breaker, of which it keeps the most recent. A value.
struct Circuits: Sendable {
    private struct Circuit: Sendable {
        var breaker: CircuitBreaker
        /// The sink of the client that used it first: a change by hand has no call whose sink could tell of it. Nil
        /// until then.
        var events: (any EventSink)?
    }

    /// A change that listeners are to be told of.
    struct ChangeNotice: Sendable {
        let key: CircuitKey
        let change: CircuitBreaker.Change
        let events: (any EventSink)?
    }

    /// How many closed circuits are kept: one that is dropped opens again soon if its host still fails.
    static let capacity = 1024
    /// How many circuits are kept, those isolated by name apart. It is larger, so that calls to many hosts do not close
    /// open circuits.
    static let limit = 4096

    private let policy: CircuitBreakerPolicy
    private var circuits: LRUCache<CircuitKey, Circuit>
    private var lastEpoch: UInt64 = 0
    private var isolatesAll = false

    init(_ policy: CircuitBreakerPolicy) {
        self.policy = policy
        circuits = LRUCache(capacity: Self.capacity) { $0.breaker.state == .closed }
    }

    var count: Int { circuits.count }

    mutating func admit(
        _ key: CircuitKey, at now: TimeInterval, _ events: (any EventSink)?
    ) -> (CircuitBreaker.Admission, CircuitBreaker.Change?) {
        guard !isolatesAll else { return (.refused(retryAfter: .infinity), nil) }
        return withCircuit(key, events) { circuit in
            // It was isolated before anybody used it.
            if circuit.events == nil { circuit.events = events }
            return circuit.breaker.admit(at: now)
        }
    }

    mutating func settle(
        _ permit: CircuitBreaker.Permit, of key: CircuitKey, _ verdict: CircuitBreaker.Verdict, at now: TimeInterval
    ) -> CircuitBreaker.Change? {
        // Without one: it was reset, or dropped, and nothing is known of the call any more.
        circuits.withValue(for: key) { $0.breaker.settle(permit, verdict, at: now) } ?? nil
    }

    /// Whether the circuit is still in the state that gave one of the permits.
    func isProbing(_ key: CircuitKey, _ permits: [CircuitBreaker.Permit]) -> Bool {
        circuits.peek(key).map { circuit in permits.contains { circuit.breaker.isCurrent($0) } } ?? false
    }

    func state(of key: CircuitKey) -> CircuitBreakerPlugin.State {
        guard !isolatesAll else { return .isolated }
        switch circuits.peek(key)?.breaker.state {
        case .closed, nil: return .closed
        case .open: return .open
        case .halfOpen: return .halfOpen
        case .isolated: return .isolated
        }
    }

    // MARK: By hand

    mutating func isolate(_ key: CircuitKey) -> [ChangeNotice] {
        withCircuit(key, nil) { circuit in
            circuit.breaker.isolate().map { [ChangeNotice(key: key, change: $0, events: circuit.events)] } ?? []
        }
    }

    mutating func isolateAll() -> [ChangeNotice] {
        guard !isolatesAll else { return [] }
        isolatesAll = true
        // Calls under way count nowhere: they are not to open a circuit later.
        return circuits.keys.flatMap { isolate($0) }
    }

    mutating func reset(_ key: CircuitKey) -> [ChangeNotice] {
        guard !isolatesAll, let circuit = circuits.removeValue(for: key), circuit.breaker.state != .closed else {
            return []
        }
        return [ChangeNotice(key: key, change: .closed, events: circuit.events)]
    }

    mutating func resetAll() -> [ChangeNotice] {
        isolatesAll = false
        return circuits.keys.flatMap { reset($0) }
    }

    private mutating func withCircuit<Result>(
        _ key: CircuitKey, _ events: (any EventSink)?, _ body: (inout Circuit) -> Result
    ) -> Result {
        lastEpoch += 1
        if circuits.count >= Self.limit, circuits.peek(key) == nil { evictOpenCircuits() }
        return circuits.withValue(
            for: key, default: Circuit(breaker: CircuitBreaker(policy, epoch: lastEpoch), events: events), body)
    }

    /// A few steps at a time, so that one call never costs a walk through all.
    private mutating func evictOpenCircuits() {
        for _ in 0..<8 where circuits.count >= Self.limit {
            guard let (oldest, circuit) = circuits.removeLeastRecentlyUsed() else { return }
            guard circuit.breaker.state == .isolated else { continue }
            circuits.withValue(for: oldest, default: circuit) { _ in }
        }
    }
}

extension CircuitBreaker.Change {
    func event(of name: String) -> NetworkEvent {
        // A custom key may be a whole URL.
        let name = Redaction.standard.text(name)
        return switch self {
        case .opened: .circuitBreakerOpened(endpoint: name)
        case .halfOpened: .circuitBreakerHalfOpened(endpoint: name)
        case .closed: .circuitBreakerClosed(endpoint: name)
        }
    }
}
