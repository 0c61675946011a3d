// SPDX-License-Identifier: MIT

import PulseCore

/// Decides when a socket connects, how long it waits, and when it ends. Callers pass in the time and all input.
struct SocketStateMachine: Sendable {
    enum Phase: Sendable {
        case idle
        /// A handshake, or the greeting after it, is in progress.
        case connecting(attempt: Int)
        case open
        case waiting(attempt: Int)
        /// This side closes the open socket.
        case closing
        case closed(PulseError?)
    }

    enum Action: Sendable {
        /// `attempt` counts from 1, and restarts once the socket was open for `resetsAfter` seconds.
        case connect(attempt: Int)
        case wait(TimeInterval, after: PulseError, attempt: Int)
        /// The first attempt has failed: the socket becomes idle again.
        case rest(PulseError)
        case finish(PulseError?)
    }

    /// How a connection has ended.
    enum End: Sendable {
        /// This side has closed the socket.
        case closedHere
        case closedByPeer(SocketClose)
        /// The peer violates the protocol.
        case failed(SocketFault)
        case lost(PulseError)
    }

    private let policy: ReconnectPolicy
    private let fatalCodes: Set<Int>
    private(set) var phase = Phase.idle
    /// Attempts to connect since the socket was idle, or was open for `resetsAfter` seconds.
    private var attempts = 0
    private var openedAt: TimeInterval?
    /// Whether the socket has opened since it was idle.
    private(set) var hasBeenOpen = false
    /// Whether another attempt follows a failed greeting before the socket has ever opened.
    private(set) var isKept = false
    /// Whether this side has closed the socket.
    private var isClosed = false

    init(_ options: SocketOptions) {
        policy = options.reconnect
        fatalCodes = options.fatalCodes
    }

    /// Starts to connect the idle socket.
    mutating func connect() -> Action {
        attempts = 1
        phase = .connecting(attempt: 1)
        return .connect(attempt: 1)
    }

    /// Records that a handshake is done and that a failed greeting is to be followed by another attempt.
    mutating func keep() {
        isKept = true
    }

    /// Opens the socket after a handshake and its greeting. Returns false if the socket was closed meanwhile.
    mutating func opened(at time: TimeInterval) -> Bool {
        guard !isClosed, case .connecting = phase else { return false }
        if !hasBeenOpen { attempts = 0 }
        phase = .open
        openedAt = time
        hasBeenOpen = true
        return true
    }

    /// Closes the socket from this side. Returns whether it is open, and so needs a close handshake.
    mutating func close() -> Bool {
        isClosed = true
        guard case .open = phase else { return false }
        phase = .closing
        return true
    }

    /// Decides what follows a connection that has ended or could not be opened.
    ///
    /// - Parameter retryAfter: the delay in seconds that the server requests.
    /// - Parameter unit: a random number in 0..<1.
    mutating func ended(_ end: End, at time: TimeInterval, retryAfter: TimeInterval? = nil, unit: Double) -> Action {
        if let openedAt, time - openedAt >= policy.resetsAfter { attempts = 0 }
        openedAt = nil
        switch end {
        case _ where isClosed: return finish(nil)
        case .closedHere: return finish(nil)
        case .closedByPeer(let close):
            let error = PulseError.socketClosed(code: close.code, reason: close.reason)
            return ended(by: error, isFinal: fatalCodes.contains(close.code), retryAfter, unit)
        case .failed(let fault):
            let error = PulseError.socketClosed(code: fault.code, reason: fault.reason)
            return ended(by: error, isFinal: fatalCodes.contains(fault.code), retryAfter, unit)
        case .lost(let error):
            var isFinal = error.isFinalForSocket
            // The greeting closed the connection with that code.
            if case .socketClosed(let code, _) = error { isFinal = fatalCodes.contains(code) }
            return ended(by: error, isFinal: isFinal, retryAfter, unit)
        }
    }

    private mutating func ended(
        by error: PulseError, isFinal: Bool, _ retryAfter: TimeInterval?, _ unit: Double
    ) -> Action {
        guard hasBeenOpen || isKept else { return .rest(error) }
        guard !isFinal, attempts < policy.maxAttempts ?? .max else { return finish(error) }
        attempts += 1
        phase = .waiting(attempt: attempts)
        let delay = policy.wait(beforeAttempt: attempts, atLeast: retryAfter, unit: unit)
        return .wait(delay, after: error, attempt: attempts)
    }

    /// Makes the socket idle again, after ``Action/rest(_:)``.
    mutating func rest() {
        (phase, attempts, isKept) = (.idle, 0, false)
    }

    /// Continues after a wait, which may have been cut short.
    mutating func waited() -> Action {
        guard !isClosed else { return finish(nil) }
        phase = .connecting(attempt: attempts)
        return .connect(attempt: attempts)
    }

    mutating func finish(_ error: PulseError?) -> Action {
        phase = .closed(error)
        return .finish(error)
    }
}

extension PulseError {
    /// Whether another handshake would fail the same way.
    fileprivate var isFinalForSocket: Bool {
        switch self {
        case .http, .unauthorized, .proxyRefused:
            guard let status = statusCode else { return false }
            return (400..<500).contains(status) && ![408, 425, 429].contains(status)
        case .invalidURL, .invalidRequest, .encodingFailed, .unsupported, .sslPinningFailed, .sessionExpired:
            return true
        case .transport(let code, _): return Self.trustFailures.contains(code)
        case .retryExhausted(let last, _): return last.isFinalForSocket
        default: return false
        }
    }

    private static let trustFailures: Set<URLError.Code> = [
        .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
        .serverCertificateNotYetValid, .clientCertificateRejected, .clientCertificateRequired,
        .appTransportSecurityRequiresSecureConnection,
    ]
}
