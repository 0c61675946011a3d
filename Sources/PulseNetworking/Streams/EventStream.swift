// SPDX-License-Identifier: MIT

import PulseCalls
public import PulseCore

/// A stream of server-sent events (WHATWG HTML, section 9.2) that reconnects.
///
/// Cold: the first request is sent when the first event is requested. Each connection is a separate call, with all
/// plugins of the client, a new token and the ID of the last event. A stream is open when the response is a 200 of type
/// `text/event-stream`; a 204 ends it without an error; any other response is an error.
///
/// Only one iterator reads; a second one throws ``PulseError/invalidRequest(reason:)``. Leaving the loop, releasing the
/// iterator, cancelling its task, ``cancel()``, and `cancelAll` or `shutdown` of the client close the connection, or
/// end the wait. At most one chunk is read ahead of the reader. Safe to use from any thread.
public final class EventStream: AsyncSequence, Sendable {
    public typealias Element = ServerSentEvent

    /// The state of a stream.
    public enum State: Sendable {
        /// No event was requested yet.
        case idle
        /// A request is in progress. `attempt` counts the connections since the last event, from 1.
        case connecting(attempt: Int)
        /// The connection is open; the response is without its body.
        case open(PulseResponse)
        /// A wait of that many seconds before the next connection, with the failure of the last one; nil if it ended
        /// cleanly.
        case waiting(TimeInterval, after: PulseError?)
        /// The stream has ended; nil without an error. The last state.
        case closed(PulseError?)
    }

    private enum Phase: Sendable {
        case idle
        /// Nil before the call has begun.
        case connecting(RunningCall?)
        case open(ByteStream)
        case waiting(Task<Void, Never>)
        case closed(PulseError?)

        /// Ends the work of this phase.
        func end(_ error: PulseError?) {
            switch self {
            case .connecting(let call): call?.cancel()
            case .open(let stream) where error == nil: stream.finish()
            case .open(let stream): stream.cancel()
            case .waiting(let task): task.cancel()
            case .idle, .closed: break
            }
        }
    }

    private struct Shared: Sendable {
        var hasReader = false
        var phase = Phase.idle
        var lastEventID: String
    }

    let connection: EventConnection
    private let shared: Locked<Shared>
    private let broadcast = Broadcast(State.idle, bufferSize: 64)

    init(_ connection: EventConnection) {
        self.connection = connection
        shared = Locked(Shared(lastEventID: connection.options.lastEventID ?? ""))
    }

    /// The states of the stream: the current one at once, then every change, until ``State/closed(_:)``. Each read of
    /// the property creates a new subscription; one that does not keep up misses the oldest.
    public var states: AsyncStream<State> { broadcast.updates() }

    /// The ID of the last event that the reader received, or a later one sent without an event; empty without one. IDs
    /// that ``EventStream/Options/lastEventID`` does not accept are ignored. Store it to resume there after a relaunch.
    public var lastEventID: String { shared.withLock { $0.lastEventID } }

    /// Connects now, if the stream waits to reconnect. Does nothing otherwise.
    public func reconnect() {
        let phase = shared.withLock { $0.phase }
        if case .waiting(let task) = phase { task.cancel() }
    }

    /// Ends the stream; its reader throws ``PulseError/cancelled``. Does nothing once the stream has ended.
    public func cancel() {
        close(.cancelled)
    }

    /// Returns the reader. Only the first reader can read; any other throws ``PulseError/invalidRequest(reason:)``.
    public func makeAsyncIterator() -> Iterator {
        let isFirst = shared.withLock { shared in
            defer { shared.hasReader = true }
            return !shared.hasReader
        }
        return Iterator(reader: isFirst ? Reader(self) : nil)
    }

    /// The reader of an event stream.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: Reader?

        /// Returns the next event, or nil after the last. Throws ``PulseError``; a second reader throws
        /// ``PulseError/invalidRequest(reason:)``.
        public mutating func next() async throws -> ServerSentEvent? {
            guard let reader else {
                throw PulseError.invalidRequest(reason: "an event stream can be read only once")
            }
            // Avoids a call that may suspend, which costs as much as the parsing: see the row of events in
            // Docs/Benchmarks.md.
            if let event = try reader.parsedEvent() { return event }
            return try await reader.next()
        }
    }
}

// MARK: - For the reader

extension EventStream {
    /// Registers the stream with its client, so that `cancelAll` and `shutdown` reach it also between its calls.
    func register() throws {
        let endsByItself = connection.reconnect.maxAttempts == 0
        let isAdded = connection.calls.add(self, tag: connection.tag, endsByItself: endsByItself) { [weak self] in
            self?.cancel()
        }
        guard isAdded else { throw PulseError.cancelled }
        // The stream may have ended before the registration.
        if try isClosed() { connection.calls.remove(self) }
    }

    func connecting(attempt: Int) throws {
        try enter(.connecting(nil), .connecting(attempt: attempt))
    }

    /// Makes the end of the stream cancel the call that connects; at once if the stream has ended.
    func connecting(by call: RunningCall) {
        let isOpen = shared.withLock { shared in
            if case .closed = shared.phase { return false }
            shared.phase = .connecting(call)
            return true
        }
        if !isOpen { call.cancel() }
    }

    func opened(_ response: StreamedResponse) throws {
        try enter(.open(response.bytes), .open(response.head))
    }

    func waiting(in task: Task<Void, Never>, _ seconds: TimeInterval, after error: PulseError?) throws {
        try enter(.waiting(task), .waiting(seconds, after: error))
    }

    /// Whether the stream has ended without an error. Throws the error with which it ended.
    func isClosed() throws -> Bool {
        guard case .closed(let error) = shared.withLock({ $0.phase }) else { return false }
        if let error { throw error }
        return true
    }

    /// Records the last event ID. Returns false if the stream has ended.
    func note(lastEventID: String) -> Bool {
        shared.withLock { shared in
            if case .closed = shared.phase { return false }
            guard lastEventID != shared.lastEventID else { return true }
            if Options.isSendable(lastEventID) { shared.lastEventID = lastEventID }
            return true
        }
    }

    /// Ends the stream, unless it has ended before.
    func close(_ error: PulseError?) {
        let former = shared.withLock { shared -> Phase? in
            if case .closed = shared.phase { return nil }
            defer { shared.phase = .closed(error) }
            return shared.phase
        }
        guard let former else { return }
        former.end(error)
        connection.calls.remove(self)
        broadcast.finish(with: .closed(error))
    }

    /// Enters the next phase. If the stream has ended, ends the work of that phase and throws.
    private func enter(_ phase: Phase, _ state: State) throws {
        let isOpen = shared.withLock { shared in
            if case .closed = shared.phase { return false }
            shared.phase = phase
            return true
        }
        guard isOpen else {
            phase.end(.cancelled)
            throw PulseError.cancelled
        }
        broadcast.set(state)
    }
}

/// The parts of a client and an endpoint that an event stream uses.
struct EventConnection: Sendable {
    let options: EventStream.Options
    let reconnect: ReconnectPolicy
    let tag: String?
    let calls: CallRegistry
    let environment: CallEnvironment
    /// Sends a request with that `Last-Event-ID`. The response of the call is an event stream or a 204.
    let connect: @Sendable (_ lastEventID: String) throws -> RunningCall
}
