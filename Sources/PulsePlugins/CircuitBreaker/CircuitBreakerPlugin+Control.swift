// SPDX-License-Identifier: MIT

public import PulseCore

/// Reads and sets the state of circuits, for example for an operator's switch, a debug panel or a test.
extension CircuitBreakerPlugin {
    /// The state of a circuit by its name: an origin such as `https://api.example.com`, a route, or the name from a
    /// custom key. An unused circuit is closed.
    public func state(for name: String) -> State {
        circuits.withLock { [key = key(name)] in $0.state(of: key) }
    }

    /// The state of the circuit of a URL's origin.
    public func state(for url: URL) -> State {
        state(for: Origin(url)?.description ?? url.absoluteString)
    }

    /// Rejects every call, to any host, until ``reset()``: for example during maintenance.
    public func isolate() {
        emit(circuits.withLock { $0.isolateAll() })
    }

    /// Rejects the calls of one circuit until ``reset(_:)`` or ``reset()``.
    public func isolate(_ name: String) {
        emit(circuits.withLock { [key = key(name)] in $0.isolate(key) })
    }

    /// Closes every circuit and clears its counts; calls in flight are not counted.
    public func reset() {
        emit(circuits.withLock { $0.resetAll() })
    }

    /// Closes one circuit and clears its counts. Does nothing while all circuits are isolated.
    public func reset(_ name: String) {
        emit(circuits.withLock { [key = key(name)] in $0.reset(key) })
    }

    private func key(_ name: String) -> CircuitKey {
        if case .origin = policy.key, let origin = URL(string: name).flatMap({ Origin($0) }) { return .origin(origin) }
        return .name(name)
    }

    private func emit(_ changes: [Circuits.ChangeNotice]) {
        for notice in changes {
            guard let events = notice.events, events.isActive else { continue }
            events.emit(notice.change.event(of: notice.key.name))
        }
    }
}
