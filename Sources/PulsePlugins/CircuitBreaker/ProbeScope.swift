// SPDX-License-Identifier: MIT

import PulseCore

/// The probes of half-open circuits that a task is part of.
///
/// It is bound to the task while the rest of the chain runs for a probe. A call made within it, such as a validator's
/// session renewal, belongs to the probe. If that call were rejected, the probe could never succeed and the circuit
/// would never close.
struct ProbeScope: Sendable {
    @TaskLocal private static var current: [ProbeScope] = []

    private let owner: ObjectIdentifier
    private let key: CircuitKey
    let permit: CircuitBreaker.Permit

    /// Runs `body` as part of a probe.
    static func run<Value: Sendable>(
        _ permit: CircuitBreaker.Permit, of owner: CircuitBreakerPlugin, _ key: CircuitKey, _ body: () async -> Value
    ) async -> Value {
        let scope = ProbeScope(owner: ObjectIdentifier(owner), key: key, permit: permit)
        return await $current.withValue(current + [scope]) { await body() }
    }

    /// The permits of the probes that the task is part of, for one owner and key.
    static func permits(of owner: CircuitBreakerPlugin, _ key: CircuitKey) -> [CircuitBreaker.Permit] {
        current.filter { $0.owner == ObjectIdentifier(owner) && $0.key == key }.map(\.permit)
    }
}
