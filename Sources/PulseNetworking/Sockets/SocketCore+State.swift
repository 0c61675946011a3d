// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulsePlatform
import PulseTransports

extension SocketCore {
    /// A connection that is being served.
    struct Link: Sendable {
        /// Identifies the connection.
        let number: Int
        let connection: any DuplexConnection
        /// The same connection, if sending tasks may write to it.
        let eager: (any EagerConnection)?
        /// Used only by the task that has the batch.
        var encoder: SocketEncoder
        /// How the connection ends, once that is known.
        var end: SocketStateMachine.End?
        /// The code and reason with which this side closed the connection before the socket opened on it.
        var refusal: SocketClose?
        /// The peer's close frame.
        var closeReceived: SocketClose?
        /// When the connection is closed at the latest, after a failure or during a close handshake.
        var closeDeadline = TimeInterval.infinity
        /// Whether the connection is closed.
        var isOver = false
        /// The batch being written, or the one that could not be written.
        var batch: SocketOutbox.Batch?
        /// Whether a sending task has begun to write the batch, and the writing task has to finish it.
        var isStarted = false
        /// Number of times a sending task has tried to take a batch.
        var eagerCount = 0
        /// The write failure; nothing is written after it.
        var failure: PulseError?
        /// Whether the peer has closed, or violates the protocol: this side sends nothing after its close frame.
        var isPeerDone = false
        /// Whether a message was received.
        var hasReceived = false
        /// The messages for the greeting; nil once the socket is open.
        var greeting: SocketInbox?
        /// Number of messages sent on this connection.
        var sentCount = 0
        var heartbeat: SocketHeartbeat
        let openedAt: TimeInterval
        /// The statistics when the connection began.
        let initial: PulseSocket.Statistics
        var alarm: DeadlineHeap.Alarm?
        /// When the alarm is due; set before the alarm is, and until it fires.
        var alarmDeadline = TimeInterval.infinity
        /// The writing task, while it waits for something to write.
        var writer: Waiter?

        /// Whether messages can be sent.
        var isUp: Bool { !isOver && failure == nil && end == nil }

        /// Whether to abandon the greeting: the connection is over, and there are no messages to process.
        var endsGreeting: Bool { isOver && !hasReceived }

        /// Records that a sending task has begun to write a batch.
        mutating func begin(_ batch: SocketOutbox.Batch) {
            (self.batch, isStarted) = (batch, true)
        }

        /// Takes the batch to finish, with the connection that has begun to write it.
        mutating func takeStarted() -> (SocketOutbox.Batch, any EagerConnection)? {
            guard isStarted, let batch, let eager else { return nil }
            isStarted = false
            return (batch, eager)
        }

        /// When the alarm is due.
        var deadline: TimeInterval { min(heartbeat.deadline, closeDeadline) }

        /// Limits how long the peer's earlier data is read after a write failure: for the close timeout, or for the
        /// pong timeout while the application does not receive.
        mutating func limitReading(at time: TimeInterval, _ closeTimeout: TimeInterval) {
            guard failure != nil, end == nil else { return }
            closeDeadline = time + (heartbeat.isHeld ? heartbeat.pongTimeout : closeTimeout)
        }
    }

    struct State: Sendable {
        var machine: SocketStateMachine
        var link: Link?
        /// Number of connections so far, including those on which the socket never opened.
        var linkCount = 0
        var inbox: SocketInbox
        var outbox = SocketOutbox()
        /// The summary of the socket in events. It names the latest handshake as their cause.
        var summary: NetworkEvent.CallSummary
        /// The request of the latest handshake, for error messages; without its headers, which would take memory in
        /// each idle socket.
        var request: URLRequest?
        var statistics = PulseSocket.Statistics()
        /// Number of messages that the latest connection may have lost, until an event reports it.
        var unreportedLoss = 0
        /// Cancels the handshake, greeting or wait in progress.
        var interruption: (@Sendable () -> Void)?
        var connects: [ConnectReply] = []
        /// Whether the first attempt was cancelled because all tasks that waited for it were.
        var isAbandoned = false
        var closes: [Promise<Void>] = []
        /// The code and reason with which this side closes the socket.
        var close: SocketClose?
        var closeError: PulseError?
        var current = SocketState.idle
        /// Events to publish, in order.
        var pendingEvents: [NetworkEvent] = []
        var isPublishing = false
        /// Whether ``SocketState/closed(_:)`` was recorded.
        var hasFinished = false
        /// Whether nothing remains to be done except publishing the end.
        var isDone = false
    }
}

extension SocketCore.State {
    /// Whether the socket has ended and all its events are published.
    var hasEnded: Bool { isDone && pendingEvents.isEmpty && !isPublishing }

    var isClosed: Bool {
        if case .closed = machine.phase { true } else { false }
    }

    /// The error that every use of an ended socket throws.
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

    /// - Parameter reply: nil for a ping that only keeps the socket alive.
    mutating func ping(_ reply: SocketHeartbeat.Reply?, at time: TimeInterval) {
        outbox.ping(reply)
        link?.heartbeat.request(at: time, isAwaited: reply != nil)
    }

    /// The next frames to write; nil without any.
    mutating func takeBatch(at time: TimeInterval) -> SocketOutbox.Batch? {
        guard var link else { return nil }
        // Moved out of the state, because the closure below changes the heartbeat (exclusive access).
        self.link = nil
        defer { self.link = link }
        link.batch = outbox.next { reply in link.heartbeat.ping(at: time, sentCount: link.sentCount, reply: reply) }
        return link.batch
    }

    /// Takes the writing task, if it is waiting.
    mutating func takeWriter() -> SocketCore.Waiter? {
        link?.writer.take()
    }

    /// Whether the application may still reply: it has a message, can send, and does not wait for another one.
    var mayReply: Bool {
        guard let link, link.hasReceived, link.isUp, close == nil else { return false }
        return (link.greeting ?? inbox).reader == nil
    }

    /// Suspends the reading task until the application waits for another message. Returns false if it need not wait.
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
