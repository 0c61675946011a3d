// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseTransports

extension SocketCore {
    /// A connection that is being served.
    struct Link: Sendable {
        /// Tells connections apart.
        let number: Int
        let connection: any DuplexConnection
        /// The same, if a sending task may write.
        let eager: (any EagerConnection)?
        /// Of the task that has the batch.
        var encoder: SocketEncoder
        /// How the connection ends, if that is known before it does.
        var end: SocketMachine.End?
        /// With what this side has closed the connection before it was the open one.
        var refusal: SocketClose?
        /// The peer's close frame.
        var closeReceived: SocketClose?
        /// When the connection is closed at last: it fails, or a close handshake is under way.
        var closeDeadline = TimeInterval.infinity
        /// Whether the connection is closed.
        var isOver = false
        /// The batch that is being written, or that could not be.
        var batch: SocketOutbox.Batch?
        /// Whether a sending task has begun to write the batch, and the writing task has to finish it.
        var isStarted = false
        /// The batches that sending tasks have taken.
        var eagerCount = 0
        /// Why nothing can be written.
        var failure: PulseError?
        /// Whether the peer has closed, or violates the protocol: this side sends nothing after its close frame.
        var isPeerDone = false
        /// Whether a message has come.
        var hasReceived = false
        /// The messages for the greeting; nil once the socket is open.
        var greeting: SocketInbox?
        /// The messages sent on this connection.
        var sentCount = 0
        var heartbeat: SocketHeartbeat
        let openedAt: TimeInterval
        /// The statistics when the connection began.
        let initial: PulseSocket.Statistics
        var alarm: DeadlineHeap.Alarm?
        /// When the alarm is due, from before it is set until it has come.
        var alarmDeadline = TimeInterval.infinity
        /// The writing task, while it waits for something to write.
        var writer: Waiter?

        /// Whether messages can be sent.
        var isUp: Bool { !isOver && failure == nil && end == nil }

        /// Whether the greeting is left, since the connection is over. It may still work on what has come.
        var endsGreeting: Bool { isOver && !hasReceived }

        /// A sending task has begun to write a batch.
        mutating func begin(_ batch: SocketOutbox.Batch) {
            (self.batch, isStarted) = (batch, true)
        }

        /// The batch to finish, and the connection that has begun with it.
        mutating func takeStarted() -> (SocketOutbox.Batch, any EagerConnection)? {
            guard isStarted, let batch, let eager else { return nil }
            isStarted = false
            return (batch, eager)
        }

        /// When the alarm is due.
        var deadline: TimeInterval { min(heartbeat.deadline, closeDeadline) }

        /// Sets the time in which what the peer has sent before a failure to write is read. An application that does
        /// not receive has as long as a peer that is silent.
        mutating func limitReading(at time: TimeInterval, _ closeTimeout: TimeInterval) {
            guard failure != nil, end == nil else { return }
            closeDeadline = time + (heartbeat.isHeld ? heartbeat.pongTimeout : closeTimeout)
        }
    }

    struct State: Sendable {
        var machine: SocketMachine
        var link: Link?
        /// The connections so far, with those that did not become the open one.
        var linkCount = 0
        var inbox: SocketInbox
        var outbox = SocketOutbox()
        /// The socket in events. It names the latest handshake as the call that caused them.
        var summary: NetworkEvent.CallSummary
        /// The request of the latest handshake, for the texts of errors; without its headers, which would take room in
        /// each idle socket.
        var request: URLRequest?
        var statistics = PulseSocket.Statistics()
        /// What the latest connection may have lost, until that is told.
        var untoldLoss = 0
        /// Cancels the handshake, the greeting or the wait that is under way.
        var interruption: (@Sendable () -> Void)?
        var connects: [ConnectReply] = []
        /// Whether all tasks that waited for the first attempt have left, and it was cancelled.
        var isAbandoned = false
        var closes: [PendingReply<Void>] = []
        /// With what this side closes.
        var close: SocketClose?
        var closeError: PulseError?
        var current = SocketState.idle
        /// The events that are to be told, in order.
        var untold: [NetworkEvent] = []
        var isTelling = false
        /// Whether ``SocketState/closed(_:)`` was noted.
        var hasFinished = false
        /// Whether nothing is left to do but to tell the end.
        var isDone = false
    }
}

extension SocketCore.State {
    /// Whether the socket has ended, and everything was told.
    var hasEnded: Bool { isDone && untold.isEmpty && !isTelling }

    var isClosed: Bool {
        if case .closed = machine.phase { true } else { false }
    }

    /// What every use of a socket that has ended throws.
    var endError: PulseError {
        if case .closed(let error?) = machine.phase { return error }
        return closeError ?? .socketClosed(code: close?.code ?? 1000, reason: close?.reason ?? "")
    }

    /// Throws if nothing can be sent now.
    func checkSending(greeting: Int?, waits: Bool) throws {
        if close != nil || isClosed { throw endError }
        if let greeting {
            guard link?.number == greeting, link?.greeting != nil else {
                throw PulseError.invalidRequest(reason: "the greeting is over: use the socket")
            }
            if link?.isUp != true { throw PulseError.lostUnsent }
        } else if !waits {
            guard case .open = machine.phase, link?.isUp == true else { throw PulseError.lostUnsent }
        }
    }

    /// - Parameter reply: nil for a ping of the socket itself.
    mutating func ping(_ reply: SocketHeartbeat.Reply?, at time: TimeInterval) {
        outbox.ping(reply)
        link?.heartbeat.request(at: time, isAwaited: reply != nil)
    }

    /// The next frames to write; nil without any.
    mutating func takeBatch(at time: TimeInterval) -> SocketOutbox.Batch? {
        guard var link else { return nil }
        // Else the heartbeat would be accessed twice.
        self.link = nil
        defer { self.link = link }
        link.batch = outbox.next { reply in link.heartbeat.ping(at: time, sentCount: link.sentCount, reply: reply) }
        return link.batch
    }

    /// The writing task, if it waits.
    mutating func takeWriter() -> SocketCore.Waiter? {
        link?.writer.take()
    }

    /// Whether the application has got a message of the connection, may still send, and does not wait for another one.
    var mayReply: Bool {
        guard let link, link.hasReceived, link.isUp, close == nil else { return false }
        return (link.greeting ?? inbox).reader == nil
    }

    /// Makes the reading task wait until the application waits for another message. False if it need not.
    mutating func waitForReader(_ source: SocketCore.Waiter) -> Bool {
        guard mayReply else { return false }
        return link?.greeting?.waitForReader(source) ?? inbox.waitForReader(source)
    }

    mutating func countUnconfirmed() {
        guard let link else { return }
        statistics.unconfirmed = link.sentCount - link.heartbeat.confirmedCount
        statistics.roundTrip = link.heartbeat.roundTrip ?? statistics.roundTrip
    }
}
