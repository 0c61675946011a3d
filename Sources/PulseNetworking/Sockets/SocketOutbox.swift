// SPDX-License-Identifier: MIT

import PulseCore

/// What a socket sends: messages in order, and control frames between them and between their fragments.
///
/// A message stays here until its bytes are handed to a connection. None of its bytes is sent twice: after the loss of
/// a connection only a message that was not begun stays.
struct SocketOutbox: Sendable {
    /// A message, and the task that sends it.
    final class Item: Sendable {
        let opcode: SocketOpcode
        let bytes: Data
        /// Whether it belongs to the greeting of one connection.
        let isGreeting: Bool
        let reply = SocketReply<Result<Void, PulseError>>()
        /// Whether its task is cancelled, so that it does not wait for another connection.
        let isCancelled = Locked(false)

        init(_ message: SocketMessage, isGreeting: Bool) {
            (opcode, bytes) = (message.opcode, message.bytes)
            self.isGreeting = isGreeting
        }
    }

    /// Frames that are written together.
    struct Batch: Sendable {
        var bytes = Data()
        /// The message whose beginning an earlier batch had.
        var continued: Item?
        /// The messages that begin in it.
        var begun: [Item] = []
        /// The messages that end in it.
        var completed: [Item] = []
        var hasClose = false
        /// The bytes of messages in it, before compression.
        fileprivate var messageBytes = 0

        fileprivate var isFull: Bool { max(bytes.count, messageBytes) >= SocketEncoder.fragmentSize }
    }

    /// A message whose last fragment is not written.
    private struct Current: Sendable {
        let item: Item
        var message: SocketEncoder.Message
        var isSent = false
    }

    /// The pongs that wait. More are not needed, since a pong confirms all pings before it.
    static let maximumPongs = 64

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

    // MARK: Filling

    mutating func append(_ item: Item) {
        if item.isGreeting { greetings.append(item) } else { queue.append(item) }
    }

    /// Takes a message back, unless it is begun.
    mutating func takeBack(_ item: Item) -> Bool {
        item.isCancelled.withLock { $0 = true }
        return queue.remove { $0 === item } != nil || greetings.remove { $0 === item } != nil
    }

    /// - Parameter reply: nil for a ping of the socket itself.
    mutating func ping(_ reply: SocketHeartbeat.Reply?) { pings.append(reply) }

    mutating func pong(_ payload: Data) {
        if pongs.count == Self.maximumPongs { _ = pongs.popFirst() }
        pongs.append(payload)
    }

    /// Sends a close frame after the messages that fit into `room` bytes, at least one. Returns the other messages.
    mutating func close(_ close: SocketClose, room: Int) -> [Item] {
        guard self.close == nil else { return [] }
        self.close = close
        var size = current?.item.bytes.count ?? 0
        var isFirst = current == nil
        let (kept, left) = queue.removeAll().reduce(into: ([Item](), [Item]())) { parts, item in
            size += item.bytes.count
            if parts.1.isEmpty, isFirst || size <= room { parts.0.append(item) } else { parts.1.append(item) }
            isFirst = false
        }
        queue = SocketQueue(kept)
        return left
    }

    /// Sends a close frame before everything else, in place of one that waits.
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

    /// The next frames to write together; nil without any. Throws code 1011 if the compression fails.
    ///
    /// - Parameter ping: returns the payload of the next ping.
    mutating func next(
        _ encoder: SocketEncoder, ping: (SocketHeartbeat.Reply?) -> Data
    ) throws(SocketFault) -> Batch? {
        guard hasWork else { return nil }
        var batch = Batch()
        while let payload = pongs.popFirst() { encoder.add(.pong, payload, to: &batch.bytes) }
        while let reply = pings.popFirst() { encoder.add(.ping, ping(reply), to: &batch.bytes) }
        if !closesFirst {
            do throws(SocketFault) {
                while !batch.isFull, try addFragment(encoder, &batch) {}
            } catch {
                // What is in the batch goes first.
                if batch.bytes.isEmpty { throw error }
                return batch
            }
        }
        if let close, closesFirst || !hasMessages {
            encoder.add(.close, close.payload ?? Data(), to: &batch.bytes)
            (batch.hasClose, hasClosed) = (true, true)
        }
        return batch
    }

    /// Adds the next fragment of the next message. False without one.
    private mutating func addFragment(_ encoder: SocketEncoder, _ batch: inout Batch) throws(SocketFault) -> Bool {
        if current == nil {
            guard let item = greetings.popFirst() ?? (isGreeting ? nil : queue.popFirst()) else { return false }
            batch.begun.append(item)
            current = Current(item: item, message: encoder.begin(item.opcode, item.bytes))
        } else if batch.begun.isEmpty {
            batch.continued = current?.item
        }
        guard var sending = current else { return false }
        let sentCount = sending.message.sentCount
        defer {
            batch.messageBytes += sending.message.sentCount - sentCount
            current = sending.isSent ? nil : sending
        }
        sending.isSent = try encoder.addFragment(of: &sending.message, to: &batch.bytes)
        if sending.isSent { batch.completed.append(sending.item) }
        return true
    }

    // MARK: The end of a connection

    /// Messages that a connection did not send.
    struct Leftover: Sendable {
        /// Of these a part may have been sent.
        var maybeSent: [Item] = []
        var unsent: [Item] = []
        /// Of pings that were not sent.
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

    /// Removes the messages that wait for a connection.
    mutating func removeAll() -> [Item] { queue.removeAll() }
}
