// SPDX-License-Identifier: MIT

/// Takes events. Called in place by the code that they tell about, on any thread and concurrently.
public protocol EventSink: AnyObject, Sendable {
    /// Whether anybody listens: asked before an event is built, so it must be cheap.
    var isActive: Bool { get }
    /// Must be short and must not wait for anything but a lock.
    func emit(_ event: NetworkEvent)
}

/// A sink that has others behind it: it asks them once, and has the event built if one of them listens.
package protocol LazyEventSink: EventSink {
    func emit(lazily event: () -> NetworkEvent)
}
