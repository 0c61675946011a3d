// SPDX-License-Identifier: MIT

/// What tests agree on by a name of their own: steps, gates and bodies.
actor Board {
    private struct Gate {
        var arrived = 0
        var limit: Int?
        var waiters: [CheckedContinuation<Void, Never>] = []

        var isOpen: Bool { limit.map { arrived >= $0 } ?? false }
    }

    private var gates: [String: Gate] = [:]
    private var steps: [String: Int] = [:]
    private var stepWaiters: [String: [CheckedContinuation<Void, Never>]] = [:]
    private var bodies: [String: [String]] = [:]
    private var requests: [ObjectIdentifier: Int] = [:]

    /// Waits for one `release`, which may come before.
    func step(_ name: String) async {
        if let count = steps[name], count > 0 {
            steps[name] = count - 1
        } else {
            await withCheckedContinuation { stepWaiters[name, default: []].append($0) }
        }
    }

    func release(_ name: String) {
        if let waiters = stepWaiters[name], let first = waiters.first {
            stepWaiters[name] = Array(waiters.dropFirst())
            first.resume()
        } else {
            steps[name, default: 0] += 1
        }
    }

    /// Waits until the gate has a limit and that many requests. Then it is open for good.
    func pass(_ name: String, arrivals: Int, limit: Int? = nil) async {
        var gate = gates[name] ?? Gate()
        gate.arrived += arrivals
        gate.limit = limit ?? gate.limit
        let released = gate.isOpen ? gate.waiters : []
        if gate.isOpen { gate.waiters = [] }
        gates[name] = gate
        if gate.isOpen {
            for waiter in released { waiter.resume() }
        } else {
            await withCheckedContinuation { gates[name]?.waiters.append($0) }
        }
    }

    func add(_ body: String, to name: String) {
        bodies[name, default: []].append(body)
    }

    func added(to name: String) -> String {
        bodies[name, default: []].joined(separator: ",")
    }

    /// Whether this request is the tenth of its connection, whose count then starts again.
    func isTenth(on connection: ObjectIdentifier) -> Bool {
        let count = requests[connection, default: 0] + 1
        requests[connection] = count < 10 ? count : nil
        return count == 10
    }
}
