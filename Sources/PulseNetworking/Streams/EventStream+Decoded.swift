// SPDX-License-Identifier: MIT

public import PulseCore

extension EventStream {
    /// The decoded values of server-sent events. Iterating it iterates its ``EventStream``, which has one reader.
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
            /// An event that does not decode throws without ending the stream: the next call continues after it.
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
    /// An event named `error`, with which a server reports that the rest is missing. It is thrown in a
    /// ``PulseError/custom(_:)``.
    ///
    /// ```swift
    /// } catch PulseError.custom(let error as EventStream.ErrorEvent) {
    ///     print(try error.event.decode(Refusal.self).message)
    /// }
    /// ```
    public struct ErrorEvent: Error, Sendable, CustomStringConvertible {
        /// The event. Its data describes the failure, in the server's own format.
        public let event: ServerSentEvent

        /// Creates an error for an event, for example in a test.
        public init(_ event: ServerSentEvent) {
            self.event = event
        }

        /// The name of the event and the request of the stream, without the data of the event.
        public var description: String {
            let request = (event.connection?.response).map { response in
                ", \(PulseError.text(of: response.request, maskedBy: response.redaction))"
            }
            return "the server sent the event \(event.shownType)" + (request ?? "")
        }
    }

    /// The values in the data of the events, decoded with the call's decoder.
    ///
    /// An event named `error` throws an ``ErrorEvent``, so that a response cut short by it does not pass for a complete
    /// one. List it in `names` to decode it like the others.
    ///
    /// - Parameter names: the names of the events to decode, `message` for those without a name; other events are
    ///   skipped. Nil, the default, decodes all.
    /// - Parameter skipsFailures: whether an event without a name, or named `message`, that does not decode is skipped,
    ///   with a ``NetworkEvent/warning(_:)``. By default, and always if it has another name, it throws
    ///   ``PulseError/decodingFailed(type:underlying:)``; the next call of the iterator continues after it.
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

    /// The values that the closure returns for the events, for example by their names.
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
    /// - Parameter decode: receives each event, including those named `error`. Nil skips the event. An error that it
    ///   throws reaches the reader as a ``PulseError``; the next call of the iterator continues after it.
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
