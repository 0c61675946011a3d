// SPDX-License-Identifier: MIT

/// A receiver of events, called synchronously by the code that emits them, on any thread and concurrently.
public protocol EventSink: AnyObject, Sendable {
    /// Whether there is a listener. Checked before an event is built, so it must be cheap.
    var isActive: Bool { get }
    /// Takes an event. It must be short and must not block on anything but a lock.
    func emit(_ event: NetworkEvent)
}

/// A sink that forwards events to others: it asks them once, and builds the event only if one of them listens.
package protocol LazyEventSink: EventSink {
    func emit(lazily event: () -> NetworkEvent)
}
