// SPDX-License-Identifier: MIT

public import PulseCore

/// Events as an asynchronous sequence that counts what it has lost. Made by
/// ``PulseEventBus/subscribe(matching:bufferingNewest:)``.
///
/// It is for one reader: two would each get a part of the events. It ends when its reader leaves, its task is
/// cancelled, ``cancel()`` is called, or the bus goes away.
public final class EventSubscription: AsyncSequence, Sendable {
    public typealias Element = NetworkEvent

    private let stream: AsyncStream<NetworkEvent>
    private let reading: EventReading

    init(_ reading: EventReading) {
        self.reading = reading
        stream = reading.stream()
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(stream: stream.makeAsyncIterator(), reader: Reader(reading))
    }

    /// The reader of a subscription, which ends when its reader is dropped.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var stream: AsyncStream<NetworkEvent>.Iterator
        fileprivate let reader: Reader

        /// The next event, waited for if need be; nil at the end.
        public mutating func next() async -> NetworkEvent? {
            await stream.next()
        }
    }

    /// The number of events that were pushed out of a full buffer before they were read, the oldest first.
    public var droppedEventCount: Int { reading.buffer.droppedEventCount }

    /// Ends the sequence after what its buffer holds.
    public func cancel() {
        reading.end()
    }

    /// Dropped with its iterator, so that leaving a loop ends the subscription even if others hold it.
    fileprivate final class Reader: Sendable {
        private let reading: EventReading

        init(_ reading: EventReading) {
            self.reading = reading
        }

        deinit {
            reading.end()
        }
    }
}
