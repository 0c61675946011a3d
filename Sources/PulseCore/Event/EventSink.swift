// SPDX-License-Identifier: MIT

/// Takes events. Called in place by the code that they tell about, on any thread and concurrently.
public protocol EventSink: AnyObject, Sendable {
    /// Whether anybody listens: asked before an event is built, so it must be cheap.
    var isActive: Bool { get }
    /// Must be short and must not wait for anything but a lock.
    func emit(_ event: NetworkEvent)
}
