// SPDX-License-Identifier: MIT

public import PulseCore

/// Hands events to whoever listens: streams, each with a buffer of its own, and sinks that are called in place.
///
/// Publishing never suspends and never waits for a listener. While nobody listens no event is built. Safe to use from
/// any thread.
public final class PulseEventBus: EventSink {
    private struct State {
        var sinks: [any EventSink] = []
        var streams: [UInt64: AsyncStream<NetworkEvent>.Continuation] = [:]
        var nextID: UInt64 = 0
        var dropped = 0
    }

    private let state = Locked(State())

    /// The bus of every client that is given no other.
    public static let shared = PulseEventBus()

    public init() {}

    deinit {
        state.withLock { Array($0.streams.values) }.forEach { $0.finish() }
    }

    /// Each read is a subscription of its own from that moment on, with a buffer of 512 events; a reader that falls
    /// further behind loses the oldest, counted in ``droppedEventCount``.
    public var events: AsyncStream<NetworkEvent> {
        events(bufferingNewest: 512)
    }

    /// A subscription with a buffer of that many events.
    public func events(bufferingNewest capacity: Int) -> AsyncStream<NetworkEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: NetworkEvent.self, bufferingPolicy: .bufferingNewest(max(1, capacity)))
        let id = state.withLock { state in
            state.nextID += 1
            state.streams[state.nextID] = continuation
            return state.nextID
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.streams.removeValue(forKey: id) }
        }
        return stream
    }

    /// Calls the sink in place for every event from now on; the bus keeps it. Adding it twice is adding it once.
    public func addSink(_ sink: any EventSink) {
        state.withLock { state in
            if !state.sinks.contains(where: { $0 === sink }) { state.sinks.append(sink) }
        }
    }

    public func removeSink(_ sink: any EventSink) {
        state.withLock { $0.sinks.removeAll { $0 === sink } }
    }

    /// Events that full buffers have lost, over all subscriptions.
    public var droppedEventCount: Int {
        state.withLock { $0.dropped }
    }

    public var isActive: Bool {
        let sinks = state.withLock { $0.streams.isEmpty ? $0.sinks : nil }
        return sinks?.contains { $0.isActive } ?? true
    }

    public func emit(_ event: NetworkEvent) {
        let (sinks, streams) = state.withLock { ($0.sinks, $0.streams) }
        for sink in sinks where sink.isActive {
            sink.emit(event)
        }
        var dropped = 0
        for stream in streams.values {
            if case .dropped = stream.yield(event) { dropped += 1 }
        }
        if dropped > 0 { state.withLock { [dropped] in $0.dropped += dropped } }
    }
}
