// SPDX-License-Identifier: MIT

/// A receiver of events, called synchronously by the code that emits them, on any thread and concurrently.
///
/// ```swift
/// final class FailureCounter: EventSink {
///     let isActive = true
///     func emit(_ event: NetworkEvent) {
///         if case .requestCompleted(.failure(let error), _, _) = event { metrics.count(error.kind) }
///     }
/// }
/// ```
public protocol EventSink: AnyObject, Sendable {
    /// Whether there is a listener. Checked before an event is built, so it must be cheap.
    var isActive: Bool { get }
    /// Takes an event. It must be short and must not block on anything but a lock.
    func emit(_ event: NetworkEvent)
}

/// A sink that forwards events to other sinks. It checks them once, and builds the event only if one is active.
package protocol LazyEventSink: EventSink {
    func emit(lazily event: () -> NetworkEvent)
}
