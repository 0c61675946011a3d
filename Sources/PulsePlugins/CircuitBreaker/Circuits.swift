// SPDX-License-Identifier: MIT

import PulseCore

/// Identifies a circuit.
enum CircuitKey: Hashable, Sendable {
    /// An origin as a value: its string would cost more than the rest of the breaker.
    case origin(Origin)
    case name(String)

    var name: String {
        switch self {
        case .origin(let origin): origin.description
        case .name(let name): name
        }
    }
}

/// The circuits of a breaker; the least recently used are evicted. A value.
struct Circuits: Sendable {
    private struct Circuit: Sendable {
        var breaker: CircuitBreaker
        /// The sink of the first client that used the circuit. Manual changes belong to no call that could report them.
        /// Nil until the first use.
        var events: (any EventSink)?
    }

    /// A change to be reported to listeners.
    struct ChangeNotice: Sendable {
        let key: CircuitKey
        let change: CircuitBreaker.Change
        let events: (any EventSink)?
    }

    /// Maximum number of closed circuits. A dropped circuit soon opens again if its host still fails.
    static let capacity = 1024
    /// Maximum number of circuits in total, except those isolated by name. It is larger, so that calls to many hosts do
    /// not evict open circuits.
    static let limit = 4096

    private let policy: CircuitBreakerPlugin.Policy
    private var circuits: LRUCache<CircuitKey, Circuit>
    private var lastEpoch: UInt64 = 0
    private var isolatesAll = false

    init(_ policy: CircuitBreakerPlugin.Policy) {
        self.policy = policy
        circuits = LRUCache(capacity: Self.capacity) { $0.breaker.state == .closed }
    }

    var count: Int { circuits.count }

    mutating func admit(
        _ key: CircuitKey, at now: TimeInterval, _ events: (any EventSink)?
    ) -> (CircuitBreaker.Admission, CircuitBreaker.Change?) {
        guard !isolatesAll else { return (.refused(retryAfter: .infinity), nil) }
        return withCircuit(key, events) { circuit in
            // The circuit was isolated before its first use.
            if circuit.events == nil { circuit.events = events }
            return circuit.breaker.admit(at: now)
        }
    }

    mutating func settle(
        _ permit: CircuitBreaker.Permit, of key: CircuitKey, _ verdict: CircuitBreaker.Verdict, at now: TimeInterval
    ) -> CircuitBreaker.Change? {
        // Without a circuit, it was reset or dropped: the call is not counted.
        circuits.withValue(for: key) { $0.breaker.settle(permit, verdict, at: now) } ?? nil
    }

    /// Whether the circuit is still in the state that issued one of the permits.
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

    // MARK: Manual control

    mutating func isolate(_ key: CircuitKey) -> [ChangeNotice] {
        withCircuit(key, nil) { circuit in
            circuit.breaker.isolate().map { [ChangeNotice(key: key, change: $0, events: circuit.events)] } ?? []
        }
    }

    mutating func isolateAll() -> [ChangeNotice] {
        guard !isolatesAll else { return [] }
        isolatesAll = true
        // Calls in flight are not counted: they must not open a circuit later.
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

    /// A few steps at a time, so that one call never scans all circuits.
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
