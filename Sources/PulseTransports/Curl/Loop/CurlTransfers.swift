// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// The transfers of a loop that are under way. Only its driver, the holder of the lock around them, calls libcurl.
final class CurlTransfers: @unchecked Sendable {
    // Unchecked: used only under the lock.

    /// An action to perform after the lock is released: no caller's code runs under the lock.
    enum Step: Sendable {
        /// A transfer has ended and left libcurl.
        case end(CurlTransfer, Result<Void, any Error>)
        /// The head of a streamed response is available.
        case resume(CurlTransfer.Waiter)
        case pipe(BytePipe.Resumption)

        func perform() {
            switch self {
            case .end(let transfer, let outcome): transfer.finish(outcome)
            case .resume(let waiter): waiter.resume()
            case .pipe(let resumption): resumption.perform()
            }
        }
    }

    private let library: CurlLibrary
    private let poller: OpaquePointer
    private var transfers: [UInt64: CurlTransfer] = [:]
    /// Transfers whose caller has left. Ending them now would block on name resolution.
    private var abandoned: [ObjectIdentifier: CurlTransfer] = [:]
    private var steps: [Step] = []
    /// When the first timeout can expire, in seconds of the monotonic clock.
    private var nextCheck = TimeInterval.infinity
    /// When the waiting thread wakes by itself.
    private(set) var wake = TimeInterval.infinity
    private var hasEnded = false

    init(_ environment: CurlEnvironment) {
        (library, poller) = (environment.library, environment.poller)
    }

    deinit {
        pulse_loop_destroy(poller)
    }

    /// The number of transfers under way.
    var count: Int { transfers.count }

    /// Whether the thread would wake too late.
    var isThreadLate: Bool { !hasEnded && nextWake < wake }

    private var nextWake: TimeInterval { min(nextCheck, pulse_loop_next_timer(poller)) }

    /// The thread's first step after each wait.
    func act() -> [Step] {
        pulse_loop_act(poller)
        endFinished()
        return takeSteps()
    }

    /// The thread's second step.
    func process(_ commands: [CurlCommandQueue.Command]) -> [Step] {
        perform(commands)
        if pulse_loop_now(poller) >= nextCheck { checkTimeouts() }
        wake = nextWake
        return takeSteps()
    }

    /// The step of a sender that found the lock free.
    func processInPlace(_ commands: [CurlCommandQueue.Command]) -> [Step] {
        if !hasEnded { perform(commands) }
        return takeSteps()
    }

    /// Defers an action of a callback.
    func add(_ step: Step) {
        steps.append(step)
    }

    private func takeSteps() -> [Step] {
        defer { steps = [] }
        return steps
    }

    /// Ends all transfers and notifies their callers.
    func end() -> [Step] {
        hasEnded = true
        for transfer in transfers.values {
            transfer.abandon()
            abandoned[ObjectIdentifier(transfer)] = transfer
            add(.end(transfer, .failure(CancellationError())))
        }
        transfers = [:]
        return takeSteps()
    }

    /// Closes all connections, which may block on name resolution.
    func close() {
        for transfer in abandoned.values { transfer.leave() }
        abandoned = [:]
        pulse_loop_close(poller)
    }

    private func perform(_ commands: [CurlCommandQueue.Command]) {
        for command in commands { perform(command) }
        // A request that was just added is sent here, if a connection is available.
        if !commands.isEmpty { pulse_loop_act_on_timers(poller) }
        endFinished()
    }

    private func perform(_ command: CurlCommandQueue.Command) {
        switch command {
        case .start(let transfer):
            guard add(transfer) else { return }
            transfers[transfer.id] = transfer
            nextCheck = min(nextCheck, transfer.timing.firstCheck(transfer.request))
        case .cancel(let id):
            if let transfer = transfers[id] { cancel(transfer) }
        case .resume(let id):
            transfers[id]?.resume()
        }
    }

    private func add(_ transfer: CurlTransfer) -> Bool {
        if transfer.join(self) { return true }
        let failure = TransportFailure(code: .resourceUnavailable, phase: .beforeSend)
        add(.end(transfer, .failure(failure)))
        return false
    }

    // MARK: Ending transfers

    private func endFinished() {
        var result: Int32 = 0
        while let easy = pulse_loop_next_ended(poller, &result) {
            guard let pointer = pulse_curl_get_string(easy, Int32(PULSE_CURLINFO_PRIVATE)) else { continue }
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(pointer).takeUnretainedValue()
            if abandoned.removeValue(forKey: ObjectIdentifier(transfer)) != nil {
                transfer.leave()
            } else if transfer.progress.needsAnotherConnection {
                restart(transfer)
            } else {
                end(transfer, transfer.outcome(of: result))
            }
        }
    }

    private func restart(_ transfer: CurlTransfer) {
        transfer.leave()
        transfer.restart()
        if !add(transfer) { transfers[transfer.id] = nil }
    }

    private func end(_ transfer: CurlTransfer, _ outcome: Result<Void, any Error>) {
        transfers[transfer.id] = nil
        transfer.leave()
        add(.end(transfer, outcome))
    }

    /// Ends a transfer early and resumes its caller at once. If libcurl would block on name resolution, the transfer
    /// itself ends when it next requests a socket.
    private func abandon(_ transfer: CurlTransfer, _ error: any Error) {
        // A transfer that has sent something has a connection, possibly opened by another transfer.
        guard !library.leavesResolverBehind, !transfer.progress.hasSocket, transfer.phase == .beforeSend else {
            transfer.handle.closeConnectionAtEnd()
            return end(transfer, .failure(error))
        }
        transfers[transfer.id] = nil
        transfer.abandon()
        abandoned[ObjectIdentifier(transfer)] = transfer
        add(.end(transfer, .failure(error)))
    }

    // MARK: Timeouts

    /// Checks every transfer, at most once per timeout period.
    private func checkTimeouts() {
        let now = pulse_loop_now(poller)
        var expired: [(transfer: CurlTransfer, error: any Error)] = []
        nextCheck = .infinity
        for transfer in transfers.values {
            if let error = transfer.timeout(now: now, nextCheck: &nextCheck) { expired.append((transfer, error)) }
        }
        guard !expired.isEmpty else { return }
        let dead = deadConnections(ofExpired: expired.map(\.transfer))
        for (transfer, error) in expired { abandon(transfer, error) }
        for connection in dead { pulse_loop_cut(poller, connection) }
    }

    /// The connections that no request may reuse after these timeouts.
    ///
    /// libcurl closes an exclusive connection, but ends only the stream of a multiplexed one. If the network has
    /// dropped that connection, every later request would wait on it until TCP gives up.
    private func deadConnections(ofExpired expired: [CurlTransfer]) -> [pulse_socket] {
        struct Suspect {
            let socket: pulse_socket
            var timeout = TimeInterval.infinity
            /// After this many seconds of silence, the other transfers on the connection lose it too.
            var patience: TimeInterval = 0
        }
        var suspects: [Int32: Suspect] = [:]
        var others = transfers
        for transfer in expired {
            others[transfer.id] = nil
            guard transfer.phase != .beforeSend, let socket = transfer.handle.connection else { continue }
            var suspect = suspects[socket.descriptor] ?? Suspect(socket: socket)
            suspect.timeout = min(suspect.timeout, transfer.request.idleTimeout)
            suspects[socket.descriptor] = suspect
        }
        guard !suspects.isEmpty else { return [] }
        for transfer in others.values {
            guard let socket = transfer.handle.connection, let suspect = suspects[socket.descriptor] else { continue }
            // The other transfers may be recent. Until an upload ends, the server need not respond.
            let patience = transfer.isSendingBody ? .infinity : 2 * transfer.patience
            suspects[socket.descriptor]?.patience = max(suspect.patience, patience)
        }
        let dead = suspects.values.filter { suspect in
            pulse_loop_silence(poller, suspect.socket) >= suspect.patience
                || pulse_loop_is_unreachable(poller, suspect.socket, suspect.timeout)
        }
        return dead.map(\.socket)
    }

    /// Calls that end by their deadlines never trigger a timeout.
    private func cancel(_ transfer: CurlTransfer) {
        var dead: pulse_socket?
        if transfer.phase != .beforeSend, let socket = transfer.handle.connection,
            pulse_loop_is_unreachable(poller, socket, transfer.timing.idleTime(now: pulse_monotonic_now()))
        {
            dead = socket
        }
        abandon(transfer, CancellationError())
        if let dead { pulse_loop_cut(poller, dead) }
    }
}
#endif
