// SPDX-License-Identifier: MIT

#if canImport(Combine)
public import Combine
public import PulseCore

extension AsyncStream where Element == NetworkEvent {
    /// Calls the closure for every event until the result is cancelled or released:
    /// `PulseEventBus.shared.events.sink { print($0) }`.
    ///
    /// The closure runs on the actor of the caller, on the main actor for instance. Events that arrive faster than it
    /// runs wait in the stream's buffer. Cancelling the result on that actor discards them.
    public func sink(
        isolation: isolated (any Actor)? = #isolation, receiveValue: @escaping (NetworkEvent) -> Void
    ) -> AnyCancellable {
        let task = Task {
            _ = isolation
            for await event in self {
                // The stream still has the events that came before the cancellation.
                guard !Task.isCancelled else { return }
                receiveValue(event)
            }
        }
        return AnyCancellable { task.cancel() }
    }
}

extension PulseEventBus.Subscription {
    /// Calls the closure for every event, as `bus.events.sink` does.
    public func sink(
        isolation: isolated (any Actor)? = #isolation, receiveValue: @escaping (NetworkEvent) -> Void
    ) -> AnyCancellable {
        stream.sink(isolation: isolation, receiveValue: receiveValue)
    }
}
#endif
