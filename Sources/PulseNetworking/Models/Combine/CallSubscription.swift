// SPDX-License-Identifier: MIT

#if canImport(Combine)
import Combine
import PulseCore

/// One call, for one subscriber.
///
/// It stays alive until the call has ended or is cancelled, even if the subscriber does not retain it.
// Unchecked: the lock guards the state, and only one thread at a time calls the subscriber.
final class CallSubscription<Value: Sendable>: Subscription, @unchecked Sendable {
    typealias Call = @Sendable () async -> Result<Value, PulseError>

    /// The type-erased subscriber, since no task may capture its metatype.
    private struct Downstream {
        let receive: (Value) -> Void
        let complete: (Subscribers.Completion<PulseError>) -> Void
    }

    private enum State {
        /// The subscriber has not requested a value yet.
        case waiting(Downstream, Call)
        case calling(Downstream, Task<Void, Never>)
        case ended
    }

    // Not a `Locked`: this file uses only public declarations, so that a test can compile it with another Combine.
    private let lock = NSLock()
    private var state: State

    init<S: Subscriber>(_ subscriber: S, _ call: @escaping Call) where S.Input == Value, S.Failure == PulseError {
        // Further demand has no effect, since there is only one value.
        let downstream = Downstream {
            _ = subscriber.receive($0)
        } complete: {
            subscriber.receive(completion: $0)
        }
        state = .waiting(downstream, call)
    }

    func request(_ demand: Subscribers.Demand) {
        guard demand > .none else { return }
        lock.lock()
        defer { lock.unlock() }
        guard case .waiting(let downstream, let call) = state else { return }
        // The task waits for the lock before it calls the subscriber.
        state = .calling(downstream, Task { self.deliver(await call()) })
    }

    func cancel() {
        if case .calling(_, let task) = end() { task.cancel() }
    }

    private func deliver(_ result: Result<Value, PulseError>) {
        switch result {
        case .success(let value):
            downstream?.receive(value)
            // The subscriber may have cancelled meanwhile.
            complete(.finished)
        case .failure(let error):
            complete(.failure(error))
        }
    }

    private func complete(_ completion: Subscribers.Completion<PulseError>) {
        if case .calling(let downstream, _) = end() { downstream.complete(completion) }
    }

    /// Nil if the subscriber has cancelled.
    private var downstream: Downstream? {
        lock.lock()
        defer { lock.unlock() }
        return if case .calling(let downstream, _) = state { downstream } else { nil }
    }

    /// Returns the previous state, to be released without the lock: the subscriber's `deinit` may run the app's code.
    private func end() -> State {
        lock.lock()
        defer { lock.unlock() }
        let before = state
        state = .ended
        return before
    }
}
#endif
