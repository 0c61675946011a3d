// SPDX-License-Identifier: MIT

/// A receiver of events, called directly by the code that they tell about, on any thread and concurrently.
public protocol EventSink: AnyObject, Sendable {
    /// Whether anybody listens. Asked before an event is built, so it must be cheap.
    var isActive: Bool { get }
    /// Takes an event. It must be short and must not wait for anything but a lock.
    func emit(_ event: NetworkEvent)
}

/// A sink that passes events on to others: it asks them once, and has the event built only if one of them listens.
package protocol LazyEventSink: EventSink {
    func emit(lazily event: () -> NetworkEvent)
}
