// SPDX-License-Identifier: MIT

public import PulseCore

/// The responses of a GraphQL subscription, over a socket that a client's subscriptions share.
///
/// ```swift
/// for try await response in client.subscribe(PriceChanged(variables: .init(id: "7"))) {
///     print(response.data?.price ?? response.errors)
/// }
/// ```
///
/// The subscription starts at the first call of `next()`, and survives connection loss: ``states`` shows when responses
/// may be missing. A response without data is an element like any other. The loop ends when the server completes the
/// subscription. It throws:
/// - ``PulseError/graphQL(_:)`` if the server rejects the subscription;
/// - ``PulseError/socketClosed(code:reason:)`` if the server closes the socket for good;
/// - ``PulseError/decodingFailed(type:underlying:)`` for a response that does not decode;
/// - the error of the first handshake, of a later one that cannot succeed, such as a 403, or of three connections in a
///   row that the server has not acknowledged.
///
/// A subscription has one reader; a second one gets ``PulseError/invalidRequest(reason:)``. Leaving the loop, dropping
/// the iterator, cancelling its task, ``cancel()``, and `cancelAll` or `shutdown` of the client end the subscription.
/// Safe to use from any thread.
public final class GraphQLSubscription<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    public typealias Element = GraphQLResponse<Value>

    private let feed: SubscriptionFeed
    private let decoder: any ResponseDecoder

    init(_ feed: SubscriptionFeed, _ decoder: any ResponseDecoder) {
        self.feed = feed
        self.decoder = decoder
    }

    /// The current state, then every change, until ``GraphQLSubscriptionState/ended(_:)``. A reader that does not keep
    /// up loses the oldest.
    public var states: AsyncStream<GraphQLSubscriptionState> { feed.states }

    /// Ends the subscription. Unread responses are dropped, and the reader gets ``PulseError/cancelled`` unless the
    /// subscription has already ended.
    public func cancel() {
        feed.cancel()
    }

    /// Returns the reader. Only the first reader can read; any other throws ``PulseError/invalidRequest(reason:)``.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: feed.takeReader() ? SubscriptionReader(feed) : nil, decoder: decoder)
    }

    /// The reader of a subscription.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: SubscriptionReader?
        fileprivate let decoder: any ResponseDecoder

        /// Returns the next response; nil once the server has completed the subscription. Throws ``PulseError``.
        ///
        /// A response that does not decode throws ``PulseError/decodingFailed(type:underlying:)`` and does not end the
        /// subscription: the next call continues after it.
        public mutating func next() async throws -> GraphQLResponse<Value>? {
            guard let reader else {
                throw PulseError.invalidRequest(reason: "a subscription can be read only once")
            }
            guard let payload = try await reader.next() else { return nil }
            do {
                return try GraphQLResponse(eventOf: payload, using: decoder)
            } catch {
                throw reader.failure(error, decoding: Value.self, payload, as: decoder.contentType)
            }
        }
    }
}

/// The state of a subscription.
public enum GraphQLSubscriptionState: Sendable {
    /// The `subscribe` message is not sent yet.
    case starting
    /// The `subscribe` message is on its way, or has arrived.
    case active
    /// The connection is lost, and responses may be missing until the subscription is active again.
    case interrupted(PulseError)
    /// The last state: the subscription has ended, with nil if the server completed it.
    case ended(PulseError?)
}

/// Reads a subscription, and ends it when the reader is released, even if the subscription is still retained.
final class SubscriptionReader {
    private let feed: SubscriptionFeed
    private var hasStarted = false

    init(_ feed: SubscriptionFeed) {
        self.feed = feed
    }

    deinit {
        feed.cancel()
    }

    func next() async throws -> Data? {
        if Task.isCancelled { feed.cancel() }
        if !hasStarted {
            hasStarted = true
            try feed.start()
        }
        return try await feed.next()
    }

    /// The error for a response that does not decode.
    func failure(
        _ error: any Error, decoding type: Any.Type, _ payload: Data, as contentType: String
    ) -> PulseError {
        guard let part = feed.hub.response(with: payload) else {
            return error as? PulseError ?? .decodingFailed(type: "\(type)", underlying: error)
        }
        return PulseError(decoding: type, error, of: part, as: contentType, element: "a response of a subscription")
    }
}
