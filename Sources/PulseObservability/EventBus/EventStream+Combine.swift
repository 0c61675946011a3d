// SPDX-License-Identifier: MIT

#if canImport(Combine)
public import Combine
public import PulseCore

extension AsyncStream where Element == NetworkEvent {
    /// Calls the closure for every event until the result is cancelled or released:
    /// `PulseEventBus.shared.events.sink { print($0) }`.
    ///
    /// The closure runs on the actor of the caller, on the main actor for instance. Events that arrive faster than it
    /// runs wait in the stream's buffer.
    public func sink(
        isolation: isolated (any Actor)? = #isolation, receiveValue: @escaping (NetworkEvent) -> Void
    ) -> AnyCancellable {
        let task = Task {
            _ = isolation
            for await event in self { receiveValue(event) }
        }
        return AnyCancellable { task.cancel() }
    }
}
#endif
