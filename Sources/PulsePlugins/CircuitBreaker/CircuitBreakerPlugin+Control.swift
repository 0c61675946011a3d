// SPDX-License-Identifier: MIT

public import PulseCore

/// Looks at circuits, and sets them by hand: for an operator's switch, a debug panel, a test.
extension CircuitBreakerPlugin {
    /// The state of a circuit by its name: an origin such as `https://api.example.com`, a route, or the name that a
    /// custom key gave. One that no call has used is closed.
    public func state(for name: String) -> State {
        circuits.withLock { [key = key(name)] in $0.state(of: key) }
    }

    /// The state of the circuit of a URL's origin.
    public func state(for url: URL) -> State {
        state(for: Origin(url)?.description ?? url.absoluteString)
    }

    /// Refuses every call, to any host, until ``reset()``: the switch for maintenance.
    public func isolate() {
        emit(circuits.withLock { $0.isolateAll() })
    }

    /// Refuses the calls of one circuit until ``reset(_:)`` or ``reset()``.
    public func isolate(_ name: String) {
        emit(circuits.withLock { [key = key(name)] in $0.isolate(key) })
    }

    /// Closes every circuit and forgets what was counted; calls under way count nowhere.
    public func reset() {
        emit(circuits.withLock { $0.resetAll() })
    }

    /// Closes one circuit and forgets what was counted for it. Does nothing while everything is isolated.
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
