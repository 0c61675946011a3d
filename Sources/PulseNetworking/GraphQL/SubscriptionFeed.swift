// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulseSockets

/// The buffer of a subscription: the socket fills it, and the reader drains it.
final class SubscriptionFeed: Sendable {
    private struct State {
        /// The unread responses, as JSON.
        var inbox: SocketInbox
        var hasReader = false
        var end: Result<Void, PulseError>?
        /// The number of responses dropped since the last read.
        var dropped = 0
    }

    let client: PulseClient
    let hub: SubscriptionHub
    /// The subscription's id, for the hub and the server.
    let id: Int
    /// The name of the operation, for warnings.
    private let name: String?
    private let tag: String?
    private let dropsOldest: Bool
    /// Returns the request as a JSON object. Throws if the operation cannot be subscribed to.
    private let makeRequest: @Sendable () throws -> Data
    private let state: Locked<State>
    private let broadcast = Broadcast(GraphQLSubscriptionState.starting, bufferSize: 64)

    init(
        _ client: PulseClient, _ hub: SubscriptionHub, name: String?, tag: String?,
        request: @escaping @Sendable () throws -> Data
    ) {
        (self.client, self.hub, id) = (client, hub, hub.newID())
        (self.name, self.tag, makeRequest) = (name, tag, request)
        let count: Int
        switch client.configuration.graphQL.subscriptionBuffer {
        case .holds(let limit): (count, dropsOldest) = (limit, false)
        case .newest(let limit): (count, dropsOldest) = (limit, true)
        }
        state = Locked(State(inbox: SocketInbox(limit: Self.maxSize, maxCount: count)))
    }

    /// The maximum size of the buffer in bytes.
    private static let maxSize = 16 << 20

    // MARK: States

    var states: AsyncStream<GraphQLSubscriptionState> { broadcast.updates() }

    func note(_ state: GraphQLSubscriptionState) {
        switch state {
        case .ended: return broadcast.finish(with: state)
        case .interrupted:
            // The subscription may not have been active on the lost connection.
            guard case .active = broadcast.current else { return }
        case .starting, .active: break
        }
        broadcast.set(state)
    }

    /// Ends the subscription, unless it has already ended. The reader still gets the buffered responses, but none after
    /// a cancellation.
    func end(_ error: PulseError?) {
        let waiters = state.withLock { state -> [SocketCore.Waiter?] in
            if case .cancelled? = error {
                while state.inbox.popFirst() != nil {}
            }
            guard state.end == nil else { return [] }
            state.end = error.map { .failure($0) } ?? .success(())
            return [state.inbox.takeSource(), state.inbox.end(.cancelled)]
        }
        guard !waiters.isEmpty else { return }
        client.calls.remove(self)
        hub.publish(.ended(error), to: self)
        for waiter in waiters { waiter?.resume() }
    }

    func cancel() {
        end(.cancelled)
        hub.remove(self)
    }

    // MARK: Filling

    /// Buffers a response. Returns a wait for free space; nil to continue at once.
    func take(_ payload: Data) -> SocketReceiver.Wait? {
        let (reader, isFull) = state.withLock { state -> (SocketCore.Waiter?, Bool) in
            guard state.end == nil else { return (nil, false) }
            while dropsOldest, state.inbox.isFull, state.inbox.popFirst() != nil { state.dropped += 1 }
            let reader = state.inbox.append(.binary(payload))
            return (reader, !dropsOldest && state.inbox.isFull)
        }
        reader?.resume()
        guard isFull else { return nil }
        return { [self] isOver in
            await withCheckedContinuation { source in
                let waits = state.withLock { $0.end == nil && $0.inbox.waitForRoom(source) }
                if !waits { return source.resume() }
                // Checked after the wait has started, so that a later end finds the waiter.
                if isOver() { stopWaiting() }
            }
            return state.withLock { $0.end != nil || !$0.inbox.isFull }
        }
    }

    /// Ends the wait for free space, because the connection has ended.
    func stopWaiting() {
        state.withLock { $0.inbox.takeSource() }?.resume()
    }

    // MARK: Reading

    /// True for the first reader only.
    func takeReader() -> Bool {
        state.withLock { state in
            defer { state.hasReader = true }
            return !state.hasReader
        }
    }

    /// Starts the subscription. Throws ``PulseError`` if it cannot start or has already ended.
    func start() throws {
        try state.withLock { $0.end }?.get()
        do {
            try client.configuration.graphQL.checkSubscriptions()
            let request = try makeRequest()
            guard client.calls.add(self, tag: tag, cancel: { [weak self] in self?.cancel() }) else {
                throw PulseError.cancelled
            }
            hub.add(self, .subscribe(id: id, request))
        } catch {
            end(PulseError(wrapping: error))
        }
        // The subscription may have ended meanwhile: the hub must not retain it.
        if let end = state.withLock({ $0.end }) {
            client.calls.remove(self)
            hub.remove(self)
            try end.get()
        }
    }

    /// The next response, as JSON; nil after the last one. Throws the error that ended the subscription.
    func next() async throws -> Data? {
        let reply = SocketInbox.Reply()
        let (source, dropped) = try state.withLock { state -> (SocketCore.Waiter?, Int) in
            if let end = state.end, state.inbox.isEmpty {
                _ = reply.store(.failure(.cancelled))
                try end.get()
                return (nil, 0)
            }
            defer { state.dropped = 0 }
            return (try state.inbox.read(reply, orThrow: nil), state.dropped)
        }
        source?.resume()
        if dropped > 0 { warn("\(dropped) responses were dropped: the reader does not keep up") }
        let result = await reply.value { self.cancel() }
        let end = state.withLock { $0.end }
        // A cancellation takes precedence over a response that arrived with it.
        if case .failure(.cancelled)? = end { throw PulseError.cancelled }
        if case .success(let message) = result { return message.bytes }
        try end?.get()
        return nil
    }

    func warn(_ text: String) {
        client.environment.warn("GraphQL subscription\(name.map { " " + $0 } ?? ""): \(text)")
    }
}

extension GraphQLSettings {
    /// Throws ``PulseError/invalidRequest(reason:)`` for settings that are invalid for subscriptions.
    fileprivate func checkSubscriptions() throws {
        let count =
            switch subscriptionBuffer {
            case .holds(let count), .newest(let count): count
            }
        guard acknowledgeTimeout > 0, pingInterval >= 0, lingers >= 0, count > 0 else {
            throw PulseError.invalidRequest(
                reason: "GraphQL: acknowledgeTimeout is \(acknowledgeTimeout), pingInterval \(pingInterval), "
                    + "lingers \(lingers), and the subscriptionBuffer \(count)")
        }
    }
}
