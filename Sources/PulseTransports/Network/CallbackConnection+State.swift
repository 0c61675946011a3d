// SPDX-License-Identifier: MIT

import PulseCore

extension CallbackConnection {
    /// What a task waits for; one task for each role.
    enum Role: Hashable {
        case opening, reading, writing
    }

    enum ReadStep {
        case bytes(Data)
        case end
        /// Requests bytes from the channel, and waits.
        case asks
        /// Waits for the bytes that an earlier read has requested.
        case waits
    }

    /// The progress of a write.
    enum Sending {
        case none
        /// Handed to the channel, or about to be, and not completed.
        case handedOver
        case done
        case failed
    }

    /// The state of a connection, which its callbacks and tasks change. At most one receive is in progress, and a
    /// cancelled or failed read loses no bytes.
    struct State {
        var waiters: [Role: Waiter] = [:]
        private(set) var remoteAddress: String?
        private var isReady = false
        /// Why this side has ended both directions.
        private(set) var end: (any Error)?
        /// Why the channel has failed. What it has received before can still be read.
        private var failure: CallbackFailure?

        private var isReading = false
        /// Whether a receive is pending. A cancelled read leaves it to the next one.
        private var isReceiving = false
        private var arrived = Data()
        /// Whether the peer has ended its direction after the bytes that have arrived.
        private var hasEnded = false
        /// Whether a failure follows the bytes that have arrived.
        private var cannotReceive = false

        private var isWriting = false
        private var sending = Sending.none
        /// Whether a task is passing bytes to the channel, which must precede the end of the direction.
        private var isHandingOver = false
        private var isFinished = false

        /// The number of bytes of the exchange handed to the channel, and when the last of them were.
        private(set) var sentCount = 0
        private(set) var sentAt: TimeInterval = 0

        /// The seconds without a byte after which the connection ends.
        private var timeout = TimeInterval.infinity
        private var lastActivity: TimeInterval = 0
        /// The task that ends the connection after the timeout.
        var watch: Task<Void, Never>? {
            didSet { oldValue?.cancel() }
        }
    }
}

extension CallbackConnection.State {
    typealias Waiter = CallbackConnection.Waiter

    /// Ends both directions. Returns the tasks to resume, as the methods for the callbacks do.
    mutating func close(_ error: any Error) -> [Waiter?] {
        end = error
        watch = nil
        defer { waiters = [:] }
        return Array(waiters.values)
    }

    // MARK: Opening

    var isOpening: Bool { !isReady && end == nil && failure == nil }

    mutating func note(_ event: CallbackChannelEvent) -> [Waiter?] {
        switch event {
        case .ready(let address):
            (isReady, remoteAddress) = (true, address)
            return [waiters.removeValue(forKey: .opening)]
        case .refused(let error):
            return close(error)
        // The client decides whether to wait for a network, and for how long.
        case .waiting(let failure), .failed(let failure):
            return fail(failure)
        }
    }

    /// A reader is not resumed: the channel completes its receive, possibly with bytes that arrived before the failure.
    private mutating func fail(_ failure: CallbackFailure) -> [Waiter?] {
        self.failure = self.failure ?? failure
        return [waiters.removeValue(forKey: .opening), waiters.removeValue(forKey: .writing)]
    }

    mutating func endOpening() throws {
        if let end { throw end }
        if let failure { throw failure.beforeReady }
        (timeout, watch) = (.infinity, nil)
    }

    // MARK: Reading

    /// Whether a read can proceed without a callback.
    var mayRead: Bool { end != nil || !isReceiving }

    /// What a reading task does next. While it waits and calls again, no other task may read.
    mutating func read(isAgain: Bool) throws -> CallbackConnection.ReadStep {
        guard isAgain || !isReading else { throw PulseError.invalidRequest(reason: "another task reads") }
        isReading = false
        try Task.checkCancellation()
        if let end { throw end }
        if !arrived.isEmpty {
            defer { arrived = Data() }
            return .bytes(arrived)
        }
        if hasEnded { return .end }
        if cannotReceive, let failure { throw failure.afterReady(.maybeSent) }
        isReading = true
        defer { isReceiving = true }
        return isReceiving ? .waits : .asks
    }

    mutating func receive(
        _ bytes: Data?, isEnd: Bool, _ failure: CallbackFailure?, now: TimeInterval
    ) -> [Waiter?] {
        isReceiving = false
        let reader = waiters.removeValue(forKey: .reading)
        if let bytes, !bytes.isEmpty {
            arrived.append(bytes)
            lastActivity = now
        }
        guard let failure else {
            hasEnded = isEnd
            return [reader]
        }
        // A reset is reported as a failure at the end.
        cannotReceive = true
        return [reader] + fail(failure)
    }

    // MARK: Writing

    var isSending: Bool { sending == .handedOver && end == nil && failure == nil }

    mutating func beginWriting() throws {
        if let end { throw (end as? TransportFailure).map { TransportFailure(unsent: $0) } ?? end }
        if let failure { throw failure.afterReady(.beforeSend) }
        guard !isWriting else { throw PulseError.invalidRequest(reason: "another task writes") }
        guard !isFinished else {
            throw TransportFailure(code: .networkConnectionLost, phase: .beforeSend, underlying: POSIXError(.EPIPE))
        }
        try Task.checkCancellation()
        (isWriting, isHandingOver, sending) = (true, true, .handedOver)
    }

    /// Notes that the channel has the bytes of a write. Returns whether the direction ends after them.
    mutating func isFinishedByHandOver() -> Bool {
        isHandingOver = false
        return isFinished && end == nil
    }

    mutating func endSending(_ failure: CallbackFailure?) -> [Waiter?] {
        sending = failure == nil ? .done : .failed
        let writer = waiters.removeValue(forKey: .writing)
        return [writer] + (failure.map { fail($0) } ?? [])
    }

    /// Throws `CancellationError` for a write that was cancelled.
    mutating func endWriting() throws {
        defer { (isWriting, sending) = (false, .none) }
        guard sending != .done else { return }
        if let end { throw end }
        if let failure { throw failure.afterReady(.maybeSent) }
        throw CancellationError()
    }

    /// Whether the direction ends now; it ends later if a task is passing bytes to the channel.
    mutating func finishes() -> Bool {
        guard end == nil, !isFinished else { return false }
        isFinished = true
        return !isHandingOver
    }

    // MARK: The exchange

    /// Returns whether the channel may get the bytes of a request.
    mutating func handOver(_ count: Int, now: TimeInterval) -> Bool {
        guard end == nil, failure == nil else { return false }
        sentCount += count
        (sentAt, lastActivity) = (now, now)
        return true
    }

    mutating func noteSent(_ failure: CallbackFailure?, now: TimeInterval) -> [Waiter?] {
        guard let failure else {
            lastActivity = now
            return []
        }
        return fail(failure)
    }

    mutating func upgrade(unread: Data) {
        (timeout, watch) = (.infinity, nil)
        arrived = unread + arrived
    }

    // MARK: Timeouts

    mutating func limit(to timeout: TimeInterval, now: TimeInterval) {
        (self.timeout, lastActivity, watch) = (timeout, now, nil)
    }

    /// The seconds until the timeout expires; nil without one.
    func timeLeft(now: TimeInterval) -> TimeInterval? {
        end == nil && timeout.isFinite ? lastActivity + timeout - now : nil
    }

    /// Ends the connection if the timeout has expired.
    mutating func expire(now: TimeInterval) -> [Waiter?] {
        guard let rest = timeLeft(now: now), rest <= 0 else { return [] }
        return close(TransportFailure(code: .timedOut, phase: isReady ? .maybeSent : .beforeSend))
    }
}

extension TransportFailure {
    /// The same failure for bytes that were not sent.
    fileprivate init(unsent failure: TransportFailure) {
        self.init(code: failure.code, phase: .beforeSend, underlying: failure.underlying)
    }
}
