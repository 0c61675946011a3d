// SPDX-License-Identifier: MIT

import PulseCore

/// The send queue of a socket: messages in order, with control frames between them and between their fragments.
///
/// A message stays here until its bytes are handed to a connection, and is never sent twice: after the loss of a
/// connection, only messages that were not begun remain.
struct SocketOutbox: Sendable {
    /// A message, and the task that sends it.
    final class Item: Sendable {
        /// Kept unencoded: the encoded form of a text takes memory again.
        let message: SocketMessage
        let size: Int
        /// Whether it belongs to the greeting of one connection.
        let isGreeting: Bool
        let reply = Promise<Result<Void, PulseError>>()
        /// Whether its task is cancelled, so that it does not wait for another connection.
        let isCancelled = Locked(false)

        init(_ message: SocketMessage, isGreeting: Bool) {
            (self.message, size) = (message, message.size)
            self.isGreeting = isGreeting
        }
    }

    /// Frames that are written together.
    struct Batch: Sendable {
        fileprivate enum Part: Sendable {
            case control(SocketOpcode, Data)
            /// The next fragment of the message.
            case fragment(Item)
        }

        fileprivate var parts: [Part] = []
        /// The frames, once they are encoded.
        private(set) var bytes = Data()
        /// The message that an earlier batch has begun.
        var continued: Item?
        /// The messages that begin in it.
        var begun: [Item] = []
        /// The messages that end in it.
        var completed: [Item] = []
        var hasClose = false
        /// Size of its fragments in bytes, with their headers, before compression.
        private var size = 0

        /// The rest of a message is sent without others: if it cannot be encoded, no other message is affected.
        fileprivate var isFull: Bool { continued != nil || size >= SocketEncoder.fragmentSize }

        fileprivate mutating func add(_ item: Item, count: Int) {
            parts.append(.fragment(item))
            size += count + Self.headerSize
        }

        private static let headerSize = 8

        /// Encodes the frames. This takes time: call it in the task that writes, outside of all locks. Throws code 1011
        /// if the rest of ``continued`` cannot be compressed.
        mutating func encode(with encoder: inout SocketEncoder) throws(SocketFault) {
            bytes.reserveCapacity(size + parts.count * Self.headerSize)
            for part in parts {
                switch part {
                case .control(let opcode, let payload): encoder.add(opcode, payload, to: &bytes)
                case .fragment(let item): try encoder.addFragment(of: item.message, to: &bytes)
                }
            }
            parts = []
        }
    }

    /// A message whose last fragment is not in a batch yet.
    private struct Current: Sendable {
        let item: Item
        /// Number of its bytes in the batches so far.
        var count = 0
    }

    /// Maximum number of queued pongs. More are not needed, since a pong confirms all pings before it.
    static let maxPongs = 64

    private var queue = SocketQueue<Item>()
    /// The messages of the greeting, which go before all others.
    private var greetings = SocketQueue<Item>()
    private var current: Current?
    private var pongs = SocketQueue<Data>()
    private var pings = SocketQueue<SocketHeartbeat.Reply?>()
    private var close: SocketClose?
    /// Whether the close frame goes before the messages.
    private var closesFirst = false
    /// Whether nothing follows on this connection.
    private(set) var hasClosed = false
    /// Whether only greetings are sent.
    var isGreeting = false

    /// Number of messages that are not begun.
    var count: Int { queue.count + greetings.count }

    // MARK: Filling

    mutating func append(_ item: Item) {
        if item.isGreeting { greetings.append(item) } else { queue.append(item) }
    }

    /// Withdraws a message of a cancelled task. Returns false if it is begun.
    mutating func takeBack(_ item: Item) -> Bool {
        item.isCancelled.withLock { $0 = true }
        return queue.remove { $0 === item } != nil || greetings.remove { $0 === item } != nil
    }

    /// - Parameter reply: nil for a ping that only keeps the socket alive.
    mutating func ping(_ reply: SocketHeartbeat.Reply?) { pings.append(reply) }

    mutating func pong(_ payload: Data) {
        if pongs.count == Self.maxPongs { _ = pongs.popFirst() }
        pongs.append(payload)
    }

    /// Queues a close frame after the messages that fit into `room` bytes, at least one. Returns the other messages.
    mutating func close(_ close: SocketClose, room: Int) -> [Item] {
        guard self.close == nil else { return [] }
        self.close = close
        var size = current?.item.size ?? 0
        var isFirst = current == nil
        let (kept, left) = queue.removeAll().reduce(into: ([Item](), [Item]())) { parts, item in
            size += item.size
            if parts.1.isEmpty, isFirst || size <= room { parts.0.append(item) } else { parts.1.append(item) }
            isFirst = false
        }
        queue = SocketQueue(kept)
        return left
    }

    /// Queues a close frame ahead of everything else, in place of one already queued.
    mutating func closeNow(_ close: SocketClose) {
        guard !hasClosed else { return }
        (self.close, closesFirst) = (close, true)
    }

    // MARK: Writing

    /// Whether ``next(_:ping:)`` returns something.
    var hasWork: Bool {
        guard !hasClosed else { return false }
        return close != nil || !pongs.isEmpty || !pings.isEmpty || hasMessages
    }

    private var hasMessages: Bool { current != nil || !greetings.isEmpty || !isGreeting && !queue.isEmpty }

    /// Returns the next frames to write together; nil without any.
    ///
    /// - Parameter ping: returns the payload of the next ping.
    mutating func next(ping: (SocketHeartbeat.Reply?) -> Data) -> Batch? {
        guard hasWork else { return nil }
        var batch = Batch()
        while let payload = pongs.popFirst() { batch.parts.append(.control(.pong, payload)) }
        while let reply = pings.popFirst() { batch.parts.append(.control(.ping, ping(reply))) }
        if !closesFirst {
            while !batch.isFull, addFragment(to: &batch) {}
        }
        if let close, closesFirst || !hasMessages {
            batch.parts.append(.control(.close, close.payload ?? Data()))
            (batch.hasClose, hasClosed) = (true, true)
        }
        return batch
    }

    /// Adds the next fragment of the next message. Returns false without one.
    private mutating func addFragment(to batch: inout Batch) -> Bool {
        if let item = current?.item {
            batch.continued = item
        } else {
            guard let item = greetings.popFirst() ?? (isGreeting ? nil : queue.popFirst()) else { return false }
            batch.begun.append(item)
            current = Current(item: item)
        }
        guard var sending = current else { return false }
        let count = min(SocketEncoder.fragmentSize, sending.item.size - sending.count)
        batch.add(sending.item, count: count)
        sending.count += count
        let isLast = sending.count == sending.item.size
        if isLast { batch.completed.append(sending.item) }
        current = isLast ? nil : sending
        return true
    }

    /// Keeps a message whose rest cannot be encoded until the connection ends, which follows.
    mutating func couldNotEncode(_ batch: Batch) {
        if let item = batch.continued { current = Current(item: item) }
        // The close frame of the failure is still to be sent.
        hasClosed = false
    }

    // MARK: The end of a connection

    /// Messages that a connection did not send.
    struct Leftover: Sendable {
        /// Messages of which a part may have been sent.
        var maybeSent: [Item] = []
        var unsent: [Item] = []
        /// Replies to the pings that were not sent.
        var pings: [SocketHeartbeat.Reply] = []
    }

    /// Ends the connection, and prepares for the next one.
    ///
    /// - Parameter batch: the batch that was not written; nil if all were.
    /// - Parameter isUnsent: whether the system has taken nothing of that batch.
    /// - Parameter keepsUnsent: whether messages that were not begun wait for the next connection. They are not
    ///   returned then.
    mutating func endConnection(_ batch: Batch?, isUnsent: Bool, keepsUnsent: Bool) -> Leftover {
        var leftover = Leftover()
        let begun = batch?.begun ?? []
        if let continued = batch?.continued { leftover.maybeSent.append(continued) }
        if let item = current?.item, item !== batch?.continued, !begun.contains(where: { $0 === item }) {
            leftover.maybeSent.append(item)
        }
        if isUnsent {
            let isOver = { (item: Item) in item.isGreeting || item.isCancelled.withLock { $0 } }
            leftover.unsent += begun.filter(isOver)
            queue.prepend(begun.filter { !isOver($0) })
        } else {
            leftover.maybeSent += begun
        }
        leftover.unsent += greetings.removeAll()
        if !keepsUnsent { leftover.unsent += queue.removeAll() }
        leftover.pings = pings.removeAll().compactMap { $0 }
        let rest = queue
        self = SocketOutbox()
        queue = rest
        return leftover
    }

    /// Takes the replies of the queued pings, which are still sent, without a reply.
    mutating func takePingReplies() -> [SocketHeartbeat.Reply] {
        let replies = pings.removeAll()
        pings = SocketQueue(replies.map { _ in nil })
        return replies.compactMap { $0 }
    }

    /// Removes the messages that wait for a connection.
    mutating func removeAll() -> [Item] { queue.removeAll() }
}
