// SPDX-License-Identifier: MIT

public import PulseCore

extension EventStream {
    /// The values of server-sent events. Reading it reads its ``EventStream``, which has one reader.
    public struct Decoded<Value: Sendable>: AsyncSequence, Sendable {
        public typealias Element = Value

        let stream: EventStream
        let decode: @Sendable (ServerSentEvent) throws -> Value?

        public func makeAsyncIterator() -> Iterator {
            Iterator(events: stream.makeAsyncIterator(), decode: decode)
        }

        /// The reader of the events.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var events: EventStream.Iterator
            fileprivate let decode: @Sendable (ServerSentEvent) throws -> Value?

            /// Returns the next value, or nil after the last. Throws ``PulseError``.
            ///
            /// An event without a value, such as one that does not decode, throws. It does not end the stream: the next
            /// call goes on after it.
            public mutating func next() async throws -> Value? {
                while let event = try await events.next() {
                    do {
                        if let value = try decode(event) { return value }
                    } catch {
                        throw PulseError(wrapping: error)
                    }
                }
                return nil
            }
        }
    }
}

extension EventStream {
    /// An event named `error`, by which a server says that what follows is missing. It is thrown in a
    /// ``PulseError/custom(_:)``.
    ///
    /// ```swift
    /// } catch PulseError.custom(let error as EventStream.ErrorEvent) {
    ///     print(try error.event.decode(Refusal.self).message)
    /// }
    /// ```
    public struct ErrorEvent: Error, Sendable, CustomStringConvertible {
        /// The event. Its data says what went wrong, in the server's own format.
        public let event: ServerSentEvent

        /// Creates an error, as for a test.
        public init(_ event: ServerSentEvent) {
            self.event = event
        }

        /// The request of the stream, without the data of the event.
        public var description: String {
            let request = (event.connection?.response).map { response in
                ", \(PulseError.text(of: response.request, maskedBy: response.redaction))"
            }
            return "the server sent the event \(event.shownType)" + (request ?? "")
        }
    }

    /// The values in the data of the events, decoded with the call's decoder.
    ///
    /// An event named `error` throws an ``ErrorEvent``, so that a response which breaks off by it does not pass for a
    /// whole one; name it in `names` to decode it like the others.
    ///
    /// - Parameter names: the names of the events to decode, `message` for those without a name; other events are
    ///   passed over. Nil, the default, decodes all.
    /// - Parameter skipsFailures: whether an event without a name, or named `message`, that does not decode is skipped,
    ///   with a ``NetworkEvent/warning(_:)``. By default, and always if it has another name, it throws
    ///   ``PulseError/decodingFailed(type:underlying:)``; the next call of the iterator goes on after it.
    public func decoded<Value: Decodable & Sendable>(
        as type: Value.Type, named names: Set<String>? = nil, skipsFailures: Bool = false
    ) -> Decoded<Value> {
        let environment = connection.environment
        return decoded { event in
            guard names?.contains(event.type) ?? !event.isError else {
                if event.isError { throw ErrorEvent(event) }
                return nil
            }
            do {
                return try event.decode(Value.self)
            } catch  where skipsFailures && !event.isNamed {
                environment.warn("an event was skipped: \(PulseError(wrapping: error).summary)")
                return nil
            }
        }
    }

    /// The values that the closure makes of the events, by their names or as it likes.
    ///
    /// ```swift
    /// let parts = stream.decoded { event -> String? in
    ///     switch event.type {
    ///     case "delta": return try event.decode(Delta.self).text
    ///     case "error": throw EventStream.ErrorEvent(event)
    ///     default: return nil
    ///     }
    /// }
    /// ```
    ///
    /// - Parameter decode: receives each event, those named `error` included. Nil passes over the event. An error that
    ///   it throws reaches the reader as a ``PulseError``; the next call of the iterator goes on after it.
    public func decoded<Value: Sendable>(
        _ decode: @escaping @Sendable (ServerSentEvent) throws -> Value?
    ) -> Decoded<Value> {
        Decoded(stream: self, decode: decode)
    }
}

extension ServerSentEvent {
    fileprivate var isNamed: Bool { type != "message" }

    fileprivate var isError: Bool { type == "error" }
}
