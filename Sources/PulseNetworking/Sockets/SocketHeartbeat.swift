// SPDX-License-Identifier: MIT

import PulseCore

/// The pings of one connection: when they are due, what a pong confirms, and when the peer counts as lost. It reads no
/// clock: callers pass in the uptime of the client's clock, in seconds.
struct SocketHeartbeat: Sendable {
    /// The round trip of a ping, or the failure of its connection.
    typealias Reply = Promise<Result<TimeInterval, PulseError>>

    private struct Ping: Sendable {
        let number: UInt64
        let sentAt: TimeInterval
        /// Number of messages sent before it.
        let sentCount: Int
        /// Receives the round trip; nil for a ping that only keeps the socket alive.
        let reply: Reply?
    }

    enum Due: Sendable, Equatable {
        case nothing
        case ping
        /// The application has waited for the pong timeout while this side did not read.
        case overdue
        /// No byte was received for the pong timeout.
        case loss
    }

    /// Seconds between two pings; infinity for none.
    private let interval: TimeInterval
    let pongTimeout: TimeInterval
    private var nextPing: TimeInterval
    private var lastActivity: TimeInterval
    private var pings: [Ping] = []
    /// When the oldest unsent ping was requested.
    private var requestedAt: TimeInterval?
    /// When the application has begun to wait for pongs.
    private var waitsSince: TimeInterval?
    /// When the peer counts as lost, after the pong timeout has passed.
    private var graceEnd: TimeInterval?
    private var requestCount = 0
    private var lastNumber: UInt64 = 0
    /// Whether reading is paused, so that no pong can arrive.
    private(set) var isHeld = false
    /// Number of messages that the peer has read.
    private(set) var confirmedCount = 0
    /// The latest round trip in seconds.
    private(set) var roundTrip: TimeInterval?

    init(interval: TimeInterval, pongTimeout: TimeInterval?, openedAt time: TimeInterval) {
        self.interval = interval > 0 ? interval : .infinity
        self.pongTimeout = pongTimeout ?? (interval > 0 ? interval : Self.defaultTimeout)
        nextPing = time + self.interval
        lastActivity = time
    }

    private static let defaultTimeout: TimeInterval = 30
    /// For a process that was suspended: its pong timeout passes at once, while the pong waits in the system's buffer.
    private static let grace: TimeInterval = 1

    /// When to call ``due(at:)`` next.
    var deadline: TimeInterval { min(nextPing, graceEnd ?? timeoutEnd, overdueTime) }

    private var timeoutEnd: TimeInterval {
        // A blocked write holds pings back.
        guard let first = pings.first?.sentAt ?? requestedAt, !isHeld else { return .infinity }
        return max(first, lastActivity) + pongTimeout
    }

    private var overdueTime: TimeInterval {
        guard let waitsSince, isHeld else { return .infinity }
        return max(waitsSince, lastActivity) + pongTimeout
    }

    /// Returns what is due; a loss takes precedence over a ping.
    mutating func due(at time: TimeInterval) -> Due {
        if time >= overdueTime {
            waitsSince = nil
            return .overdue
        }
        if time >= timeoutEnd {
            if let graceEnd, time >= graceEnd { return .loss }
            graceEnd = graceEnd ?? time + min(Self.grace, pongTimeout)
        }
        guard time >= nextPing else { return .nothing }
        nextPing = time + interval
        return pings.isEmpty && requestedAt == nil ? .ping : .nothing
    }

    /// Records that a ping is to be sent.
    ///
    /// - Parameter isAwaited: whether the application waits for its pong.
    mutating func request(at time: TimeInterval, isAwaited: Bool) {
        requestedAt = requestedAt ?? time
        requestCount += 1
        if isAwaited { waitsSince = waitsSince ?? time }
    }

    /// Records that a ping is sent, and returns its payload.
    ///
    /// - Parameter sentCount: the number of messages sent before it.
    mutating func ping(at time: TimeInterval, sentCount: Int, reply: Reply?) -> Data {
        lastNumber += 1
        requestCount -= 1
        if requestCount <= 0 { requestedAt = nil }
        pings.append(Ping(number: lastNumber, sentAt: time, sentCount: sentCount, reply: reply))
        return withUnsafeBytes(of: lastNumber.bigEndian) { Data($0) }
    }

    /// Any byte is a sign of life.
    mutating func received(at time: TimeInterval) {
        lastActivity = max(lastActivity, time)
        graceEnd = nil
    }

    /// Handles a pong, which confirms its ping and all before it (RFC 6455, section 5.5.3). Any other pong is ignored.
    ///
    /// Returns the replies to fulfill.
    mutating func pong(_ payload: Data, at time: TimeInterval) -> [(reply: Reply, roundTrip: TimeInterval)] {
        let number = payload.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard payload.count == 8, let index = pings.firstIndex(where: { $0.number == number }) else { return [] }
        let confirmed = pings[...index]
        pings.removeFirst(index + 1)
        if pings.isEmpty, requestCount == 0 { waitsSince = nil }
        if let last = confirmed.last {
            confirmedCount = last.sentCount
            roundTrip = time - last.sentAt
        }
        return confirmed.compactMap { ping in ping.reply.map { ($0, time - ping.sentAt) } }
    }

    /// Records that this side pauses or resumes reading.
    mutating func hold(_ isHeld: Bool, at time: TimeInterval) {
        self.isHeld = isHeld
        // Data that the peer sent meanwhile has yet to be read.
        received(at: time)
    }

    /// Takes the replies that are not fulfilled. A pong still confirms its ping.
    mutating func takeReplies() -> [Reply] {
        defer {
            pings = pings.map { Ping(number: $0.number, sentAt: $0.sentAt, sentCount: $0.sentCount, reply: nil) }
        }
        return pings.compactMap(\.reply)
    }
}
