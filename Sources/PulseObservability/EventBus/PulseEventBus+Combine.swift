// SPDX-License-Identifier: MIT

#if canImport(Combine)
public import Combine
public import PulseCore

/// The bus as a publisher of Combine.
///
/// Each subscriber receives the events synchronously, on the thread that emits them, up to its demand. Events beyond
/// its demand are lost, as with a `PassthroughSubject`. Add `.buffer(size:prefetch:whenFull:)` and `.receive(on:)` to
/// decouple a slow subscriber.
extension PulseEventBus: Publisher {
    public typealias Output = NetworkEvent
    public typealias Failure = Never

    /// Subscribes to all later events. They arrive synchronously, on the thread that emits them.
    public func receive<S: Subscriber>(subscriber: S) where S.Input == NetworkEvent, S.Failure == Never {
        let sink = SubjectSink()
        // Added first: a subscriber may cancel while it subscribes, and the sink would then be added after its removal.
        addSink(sink)
        // The bus keeps the sink until the subscriber's subscription ends.
        sink.subject
            .handleEvents(receiveCancel: { [weak self, weak sink] in
                if let sink { self?.removeSink(sink) }
            })
            .subscribe(subscriber)
    }

    /// A sink that passes events to a subject.
    private final class SubjectSink: EventSink, @unchecked Sendable {
        // Unchecked: any thread may send to the subject, and it is never replaced.
        let subject = PassthroughSubject<NetworkEvent, Never>()

        var isActive: Bool { true }

        func emit(_ event: NetworkEvent) {
            subject.send(event)
        }
    }
}
#endif
