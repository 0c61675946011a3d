// SPDX-License-Identifier: MIT

#if canImport(Combine)
public import Combine
public import PulseCore

/// The bus as a publisher of Combine.
///
/// Each subscriber gets the events in place, on the thread that emits them, once it has asked for any; what it has not
/// asked for is lost to it, as to a `PassthroughSubject`. Add `.buffer(size:prefetch:whenFull:)` and `.receive(on:)` to
/// read at leisure.
extension PulseEventBus: Publisher {
    public typealias Output = NetworkEvent
    public typealias Failure = Never

    /// Subscribes to the events from now on. They come in place, on the thread that emits them.
    public func receive<S: Subscriber>(subscriber: S) where S.Input == NetworkEvent, S.Failure == Never {
        let sink = SubjectSink()
        // First: a subscriber may cancel while it is subscribed, and the sink would come to the bus after it was ended.
        addSink(sink)
        // The subscriber's subscription ends the sink; until then the bus keeps it.
        sink.subject
            .handleEvents(receiveCancel: { [weak self, weak sink] in
                if let sink { self?.removeSink(sink) }
            })
            .subscribe(subscriber)
    }

    /// A sink that passes events to a subject.
    private final class SubjectSink: EventSink, @unchecked Sendable {
        // Unchecked: the subject may be sent to from any thread, and is never replaced.
        let subject = PassthroughSubject<NetworkEvent, Never>()

        var isActive: Bool { true }

        func emit(_ event: NetworkEvent) {
            subject.send(event)
        }
    }
}
#endif
