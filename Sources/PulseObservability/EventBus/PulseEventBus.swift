// SPDX-License-Identifier: MIT

public import PulseCore

/// Delivers events to its listeners: to streams, each with its own buffer, and to sinks, which are called
/// synchronously.
///
/// ```swift
/// let bus = PulseEventBus()
/// let client = PulseClient(configuration: configuration, events: bus)
/// for await event in bus.events { print(event) }
/// ```
///
/// Publishing never suspends and never waits for a stream's reader. Without listeners, no event is built. Safe to use
/// from any thread.
public final class PulseEventBus: EventSink, LazyEventSink {
    /// The listeners. Every change creates a new object, so that publishing takes only one reference out of the lock.
    private final class Listeners: Sendable {
        let sinks: [any EventSink]
        let buffers: [EventBuffer]
        /// The sink, if it is the only listener: usually a collector.
        private let soleSink: (any EventSink)?

        init(sinks: [any EventSink], buffers: [EventBuffer]) {
            self.sinks = sinks
            self.buffers = buffers
            soleSink = sinks.count == 1 && buffers.isEmpty ? sinks[0] : nil
        }

        var isActive: Bool {
            !buffers.isEmpty || sinks.contains { $0.isActive }
        }

        func deliver(_ event: () -> NetworkEvent) {
            if let soleSink {
                if soleSink.isActive { soleSink.emit(event()) }
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
        /// The listeners; nil while there are none.
        var listeners: Listeners?
        /// The number of events dropped by subscriptions that have ended.
        var droppedByEnded = 0

        mutating func update(_ change: (inout [any EventSink], inout [EventBuffer]) -> Void) {
            var (sinks, buffers) = (listeners?.sinks ?? [], listeners?.buffers ?? [])
            change(&sinks, &buffers)
            listeners = sinks.isEmpty && buffers.isEmpty ? nil : Listeners(sinks: sinks, buffers: buffers)
        }
    }

    private let state = Locked(State())
    /// Whether there are listeners. Changed under the lock, and read without it, many times per call.
    private let hasListeners = AtomicFlag()

    /// The default bus of every client.
    public static let shared = PulseEventBus()

    /// Creates a bus without listeners.
    public init() {}

    deinit {
        state.withLock { $0.listeners }?.buffers.forEach { $0.finish() }
    }

    /// A stream of all later events, with a buffer of 512. Each access creates a new subscription. A reader that falls
    /// further behind loses the oldest events, which ``droppedEventCount`` counts.
    public var events: AsyncStream<NetworkEvent> {
        open(.all, 512).stream()
    }

    /// A subscription to the events that match a filter, by default to all, which counts its dropped events.
    ///
    /// Other events take no space in its buffer. If the buffer is full, the oldest are dropped.
    public func subscribe(
        matching filter: Filter = .all, bufferingNewest capacity: Int = 512
    ) -> Subscription {
        Subscription(open(filter, capacity))
    }

    private func open(_ filter: Filter, _ capacity: Int) -> SubscriptionToken {
        let buffer = EventBuffer(filter: filter, capacity: capacity)
        update { _, buffers in buffers.append(buffer) }
        return SubscriptionToken(buffer) { [weak self] in self?.close(buffer) }
    }

    /// Ends a subscription. A second call changes nothing.
    private func close(_ buffer: EventBuffer) {
        state.withLock { state in
            guard state.listeners?.buffers.contains(where: { $0 === buffer }) == true else { return }
            update(&state) { _, buffers in buffers.removeAll { $0 === buffer } }
            state.droppedByEnded += buffer.droppedEventCount
        }
    }

    /// Calls the sink synchronously for every later event. The bus retains it. Adding a sink again changes nothing.
    public func addSink(_ sink: any EventSink) {
        update { sinks, _ in
            if !sinks.contains(where: { $0 === sink }) { sinks.append(sink) }
        }
    }

    /// Removes a sink, by identity. An event that is being emitted may still reach it.
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

    /// The number of events dropped by full buffers, over all subscriptions, including ended ones.
    public var droppedEventCount: Int {
        state.withLock { state in
            state.listeners?.buffers.reduce(state.droppedByEnded) { $0 + $1.droppedEventCount }
                ?? state.droppedByEnded
        }
    }

    public var isActive: Bool {
        hasListeners.isSet && state.withLock { $0.listeners }?.isActive == true
    }

    public func emit(_ event: NetworkEvent) {
        emit(lazily: { event })
    }

    package func emit(lazily event: () -> NetworkEvent) {
        if hasListeners.isSet { state.withLock { $0.listeners }?.deliver(event) }
    }
}
