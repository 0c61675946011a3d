// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseEventBus {
    /// Events as an asynchronous sequence that counts dropped events. Created by
    /// ``PulseEventBus/subscribe(matching:bufferingNewest:)``.
    ///
    /// It has one reader: two readers would each receive a part of the events. It ends when its iterator is released,
    /// the reader's task is cancelled, ``cancel()`` is called, or the bus is deallocated.
    public final class Subscription: AsyncSequence, Sendable {
        public typealias Element = NetworkEvent

        let stream: AsyncStream<NetworkEvent>
        private let token: SubscriptionToken

        init(_ token: SubscriptionToken) {
            self.token = token
            stream = token.stream()
        }

        public func makeAsyncIterator() -> Iterator {
            Iterator(stream: stream.makeAsyncIterator(), reader: Reader(token))
        }

        /// The iterator of a subscription. The subscription ends when its iterator is released.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var stream: AsyncStream<NetworkEvent>.Iterator
            fileprivate let reader: Reader

            /// The next event, once there is one; nil at the end.
            public mutating func next() async -> NetworkEvent? {
                await stream.next()
            }
        }

        /// The number of events that a full buffer dropped before they were read. The oldest are dropped first.
        public var droppedEventCount: Int { token.buffer.droppedEventCount }

        /// Ends the sequence after the buffered events.
        public func cancel() {
            token.end()
        }

        /// Released with its iterator, so that leaving a loop ends the subscription even if it has other references.
        fileprivate final class Reader: Sendable {
            private let token: SubscriptionToken

            init(_ token: SubscriptionToken) {
                self.token = token
            }

            deinit {
                token.end()
            }
        }
    }
}
