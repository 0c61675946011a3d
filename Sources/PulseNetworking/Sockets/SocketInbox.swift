// SPDX-License-Identifier: MIT

import PulseCore

/// Messages received ahead of their reader. Callers resume the returned tasks outside of all locks.
package struct SocketInbox: Sendable {
    package typealias Reply = Promise<Result<SocketMessage, PulseError>>
    package typealias Waiter = Reply.Waiter

    private let limit: Int
    private let maxCount: Int
    private var messages = SocketQueue<SocketMessage>()
    private var size = 0
    /// The task that waits for a message.
    private(set) var reader: Reply?
    /// The task that reads from the wire, while it waits for room, or for a reader.
    private var source: Waiter?
    private var waitsForReader = false

    /// - Parameter limit: in bytes.
    package init(limit: Int, maxCount: Int = .max) {
        (self.limit, self.maxCount) = (limit, maxCount)
    }

    /// Whether reading from the wire must pause.
    package var isFull: Bool { size >= limit || messages.count >= maxCount }
    package var isEmpty: Bool { messages.isEmpty }

    /// Adds a received message. Returns the task that takes it, if one waits.
    package mutating func append(_ message: SocketMessage) -> Waiter? {
        if let reader = reader.take() { return reader.store(.success(message)) }
        messages.append(message)
        size += message.size + Self.overhead
        return nil
    }

    /// An empty message takes memory too.
    private static let overhead = 64

    /// Suspends the reading task until there is room. Returns false if there is some.
    package mutating func waitForRoom(_ source: Waiter) -> Bool {
        guard isFull else { return false }
        (self.source, waitsForReader) = (source, false)
        return true
    }

    /// Suspends the reading task until a task waits for another message. Returns false if one does.
    mutating func waitForReader(_ source: Waiter) -> Bool {
        guard reader == nil else { return false }
        (self.source, waitsForReader) = (source, true)
        return true
    }

    /// Takes the reading task, if it is waiting.
    package mutating func takeSource() -> Waiter? { source.take() }

    /// Fulfills `reply` with the next message, now or when it arrives. Returns the reading task to resume.
    ///
    /// - Parameter error: thrown if no message is left.
    package mutating func read(_ reply: Reply, orThrow error: PulseError?) throws(PulseError) -> Waiter? {
        guard reader == nil else { throw .invalidRequest(reason: "another task reads from the socket") }
        if let message = popFirst() {
            // Nothing waits for the reply yet.
            _ = reply.store(.success(message))
            return isFull || waitsForReader ? nil : source.take()
        }
        if let error { throw error }
        reader = reply
        return source.take()
    }

    /// Removes the oldest message.
    package mutating func popFirst() -> SocketMessage? {
        guard let message = messages.popFirst() else { return nil }
        size -= message.size + Self.overhead
        return message
    }

    mutating func leave(_ reply: Reply) {
        if reader === reply { reader = nil }
    }

    /// Ends the inbox: no message follows. Returns the task that waited for one.
    package mutating func end(_ error: PulseError) -> Waiter? {
        reader.take()?.store(.failure(error))
    }

    /// Adds the remaining messages of another inbox. Returns the task that takes the first.
    mutating func append(all other: SocketInbox) -> Waiter? {
        other.messages.all.reduce(nil) { waiter, message in append(message) ?? waiter }
    }
}
