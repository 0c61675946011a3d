// SPDX-License-Identifier: MIT

import PulseCore

/// A subscription: its filter, its buffered events, the number of dropped events, and its waiting readers.
///
/// Not an `AsyncStream` with a buffer, which takes half a microsecond more per event once its buffer is full.
final class EventBuffer: Sendable {
    private typealias Reader = CheckedContinuation<NetworkEvent?, Never>

    private struct State {
        var ring: EventRing
        /// The readers that wait while the ring is empty; usually one, but two tasks may read.
        var readers: [Reader] = []
        var dropped = 0
        var isFinished = false
    }

    private let filter: PulseEventBus.Filter
    private let state: Locked<State>

    init(filter: PulseEventBus.Filter, capacity: Int) {
        self.filter = filter
        state = Locked(State(ring: EventRing(capacity: capacity)))
    }

    var droppedEventCount: Int { state.withLock { $0.dropped } }

    func add(_ event: NetworkEvent) {
        guard filter.matches(event) else { return }
        let reader = state.withLock { state -> Reader? in
            guard !state.isFinished else { return nil }
            if !state.readers.isEmpty { return state.readers.removeFirst() }
            if !state.ring.append(event) { state.dropped += 1 }
            return nil
        }
        reader?.resume(returning: event)
    }

    /// Closes the buffer: it accepts no more events, but buffered events may still be read.
    func finish() {
        let readers = state.withLock { state in
            state.isFinished = true
            defer { state.readers = [] }
            return state.readers
        }
        readers.forEach { $0.resume(returning: nil) }
    }

    /// The next event, once there is one; nil at the end.
    func next() async -> NetworkEvent? {
        await withCheckedContinuation { reader in
            let ready = state.withLock { state -> NetworkEvent?? in
                if let event = state.ring.popFirst() { return .some(event) }
                if state.isFinished { return .some(nil) }
                state.readers.append(reader)
                return nil
            }
            if let ready { reader.resume(returning: ready) }
        }
    }
}

/// Keeps a subscription open for a stream or a ``PulseEventBus/Subscription``, and ends it when released.
final class SubscriptionToken: Sendable {
    let buffer: EventBuffer
    private let close: @Sendable () -> Void

    init(_ buffer: EventBuffer, close: @escaping @Sendable () -> Void) {
        self.buffer = buffer
        self.close = close
    }

    /// Ends the subscription: its reader's task was cancelled, or the subscription itself.
    func end() {
        // Finished first: then the buffer's dropped count is final, and the bus can add it up.
        buffer.finish()
        close()
    }

    deinit {
        end()
    }

    /// A stream that, with its iterators, retains this object.
    func stream() -> AsyncStream<NetworkEvent> {
        AsyncStream {
            await self.buffer.next()
        } onCancel: {
            self.end()
        }
    }
}
