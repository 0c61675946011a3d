// SPDX-License-Identifier: MIT

public import PulseCore

/// Events as an asynchronous sequence that counts what it has lost. Made by
/// ``PulseEventBus/subscribe(matching:bufferingNewest:)``.
///
/// It is for one reader: two would each get a part of the events. It ends when its reader leaves, its task is
/// cancelled, ``cancel()`` is called, or the bus goes away.
public final class EventSubscription: AsyncSequence, Sendable {
    public typealias Element = NetworkEvent
    public typealias AsyncIterator = AsyncStream<NetworkEvent>.Iterator

    private let stream: AsyncStream<NetworkEvent>
    private let reading: EventReading

    init(_ reading: EventReading) {
        self.reading = reading
        stream = reading.stream()
    }

    public func makeAsyncIterator() -> AsyncIterator {
        stream.makeAsyncIterator()
    }

    /// The number of events that were pushed out of a full buffer before they were read, the oldest first.
    public var droppedEventCount: Int { reading.buffer.droppedEventCount }

    /// Ends the sequence after what its buffer holds.
    public func cancel() {
        reading.end()
    }
}
