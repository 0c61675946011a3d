// SPDX-License-Identifier: MIT

import Combine
import PulseKit

/// A subscriber that records what it gets.
final class Probe<Input: Sendable, Failure: Error>: Subscriber, @unchecked Sendable {
    // Unchecked: reached under the lock alone.
    private let lock = NSLock()
    private var recorded: [String] = []
    private var subscription: (any Subscription)?
    private let demand: Subscribers.Demand
    private let keepsSubscription: Bool
    private let onValue: (Probe) -> Void

    /// - Parameter onValue: runs while the subscriber gets a value.
    init(
        _ demand: Subscribers.Demand, keepsSubscription: Bool = true, onValue: @escaping (Probe) -> Void = { _ in }
    ) {
        (self.demand, self.keepsSubscription, self.onValue) = (demand, keepsSubscription, onValue)
    }

    /// What was received, such as `["Ada", "finished"]`.
    var received: [String] { lock.withLock { recorded } }

    func receive(subscription: any Subscription) {
        if keepsSubscription { lock.withLock { self.subscription = subscription } }
        if demand > .none { subscription.request(demand) }
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        lock.withLock { recorded.append("\(input)") }
        onValue(self)
        return .unlimited
    }

    func receive(completion: Subscribers.Completion<Failure>) {
        lock.withLock {
            switch completion {
            case .finished: recorded.append("finished")
            case .failure(let error as PulseError): recorded.append("\(error.kind)")
            case .failure(let error): recorded.append("\(error)")
            }
        }
    }

    func request(_ demand: Subscribers.Demand) { lock.withLock { subscription }?.request(demand) }

    func cancel() { lock.withLock { subscription }?.cancel() }
}

/// Lets other tasks run until the condition holds.
func eventually(isolation: isolated (any Actor)? = #isolation, _ condition: () -> Bool) async {
    while !condition(), !Task.isCancelled { await Task.yield() }
}

/// Lets other tasks run for a while, in which nothing must happen.
func turns() async {
    for _ in 0..<200 { await Task.yield() }
}
