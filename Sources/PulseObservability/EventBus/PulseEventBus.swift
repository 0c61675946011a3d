// SPDX-License-Identifier: MIT

public import PulseCore

/// Hands events to whoever listens: streams, each with a buffer of its own, and sinks that are called in place.
///
/// Publishing never suspends and never waits for a listener. While nobody listens no event is built. Safe to use from
/// any thread.
public final class PulseEventBus: EventSink, LazyEventSink {
    /// Who listens, made anew at every change, so that publishing takes one reference out of the lock.
    private final class Listeners: Sendable {
        let sinks: [any EventSink]
        let buffers: [EventBuffer]
        /// The one sink, if nobody else listens: as a rule a collector.
        private let only: (any EventSink)?

        init(sinks: [any EventSink], buffers: [EventBuffer]) {
            self.sinks = sinks
            self.buffers = buffers
            only = sinks.count == 1 && buffers.isEmpty ? sinks[0] : nil
        }

        var isActive: Bool {
            !buffers.isEmpty || sinks.contains { $0.isActive }
        }

        func tell(_ event: () -> NetworkEvent) {
            if let only {
                if only.isActive { only.emit(event()) }
                return
            }
            let first = sinks.firstIndex { $0.isActive }
            guard first != nil || !buffers.isEmpty else { return }
            let event = event()
            if let first {
                sinks[first].emit(event)
                for sink in sinks[(first + 1)...] where sink.isActive { sink.emit(event) }
            }
            for buffer in buffers { buffer.add(event) }
        }
    }

    private struct State {
        /// Nil while nobody listens.
        var listeners: Listeners?
        /// Of the subscriptions that have ended.
        var formerlyDropped = 0

        mutating func update(_ change: (inout [any EventSink], inout [EventBuffer]) -> Void) {
            var (sinks, buffers) = (listeners?.sinks ?? [], listeners?.buffers ?? [])
            change(&sinks, &buffers)
            listeners = sinks.isEmpty && buffers.isEmpty ? nil : Listeners(sinks: sinks, buffers: buffers)
        }
    }

    private let state = Locked(State())
    /// Whether anybody does: changed under the lock, and asked without it, many times a call.
    private let hasListeners = AtomicFlag()

    /// The bus of every client that is given no other.
    public static let shared = PulseEventBus()

    public init() {}

    deinit {
        state.withLock { $0.listeners }?.buffers.forEach { $0.finish() }
    }

    /// Each read is a subscription of its own from that moment on, with a buffer of 512 events; a reader that falls
    /// further behind loses the oldest, counted in ``droppedEventCount``.
    public var events: AsyncStream<NetworkEvent> {
        events(matching: .all)
    }

    /// A subscription with a buffer of that many events.
    public func events(bufferingNewest capacity: Int) -> AsyncStream<NetworkEvent> {
        events(matching: .all, bufferingNewest: capacity)
    }

    /// A subscription to some events alone: the others take no room in its buffer.
    public func events(matching filter: EventFilter, bufferingNewest capacity: Int = 512) -> AsyncStream<NetworkEvent> {
        open(filter, capacity).stream()
    }

    /// A subscription that tells how many events it has lost.
    public func subscribe(
        matching filter: EventFilter = .all, bufferingNewest capacity: Int = 512
    ) -> EventSubscription {
        EventSubscription(open(filter, capacity))
    }

    private func open(_ filter: EventFilter, _ capacity: Int) -> EventReading {
        let buffer = EventBuffer(filter: filter, capacity: capacity)
        update { _, buffers in buffers.append(buffer) }
        return EventReading(buffer) { [weak self] in self?.close(buffer) }
    }

    /// Twice is once.
    private func close(_ buffer: EventBuffer) {
        state.withLock { state in
            guard state.listeners?.buffers.contains(where: { $0 === buffer }) == true else { return }
            update(&state) { _, buffers in buffers.removeAll { $0 === buffer } }
            state.formerlyDropped += buffer.droppedEventCount
        }
    }

    /// Calls the sink in place for every event from now on; the bus keeps it. Adding it twice is adding it once.
    public func addSink(_ sink: any EventSink) {
        update { sinks, _ in
            if !sinks.contains(where: { $0 === sink }) { sinks.append(sink) }
        }
    }

    public func removeSink(_ sink: any EventSink) {
        update { sinks, _ in sinks.removeAll { $0 === sink } }
    }

    private func update(_ change: (inout [any EventSink], inout [EventBuffer]) -> Void) {
        state.withLock { update(&$0, change) }
    }

    private func update(_ state: inout State, _ change: (inout [any EventSink], inout [EventBuffer]) -> Void) {
        state.update(change)
        hasListeners.set(state.listeners != nil)
    }

    /// Events that full buffers have lost, over all subscriptions, those that have ended too.
    public var droppedEventCount: Int {
        state.withLock { state in
            state.listeners?.buffers.reduce(state.formerlyDropped) { $0 + $1.droppedEventCount }
                ?? state.formerlyDropped
        }
    }

    public var isActive: Bool {
        hasListeners.isSet && state.withLock { $0.listeners }?.isActive == true
    }

    public func emit(_ event: NetworkEvent) {
        emit(lazily: { event })
    }

    package func emit(lazily event: () -> NetworkEvent) {
        if hasListeners.isSet { state.withLock { $0.listeners }?.tell(event) }
    }
}
