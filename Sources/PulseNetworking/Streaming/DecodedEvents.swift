// SPDX-License-Identifier: MIT

import PulseCore

/// The decoded data of server-sent events. Reading it reads its ``EventStream``, which has one reader.
public struct DecodedEvents<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    public typealias Element = Value

    let stream: EventStream
    let skipsFailures: Bool

    public func makeAsyncIterator() -> Iterator {
        Iterator(events: stream.makeAsyncIterator(), skipsFailures: skipsFailures)
    }

    /// The reader of the events.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var events: EventStream.Iterator
        fileprivate let skipsFailures: Bool

        /// Returns the next value, or nil after the last. Throws ``PulseError``.
        ///
        /// An event that does not decode throws ``PulseError/decodingFailed(type:underlying:)``, unless failures are
        /// skipped. It does not end the stream: the next call goes on after it.
        public mutating func next() async throws -> Value? {
            while let event = try await events.next() {
                do {
                    return try event.decode(Value.self)
                } catch  where skipsFailures {
                    continue
                }
            }
            return nil
        }
    }
}
