// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

extension DownloadList {
    /// Seconds until a download of another account is tried again.
    private static let accountPeriod: TimeInterval = 60
    private static let connectionPeriod: TimeInterval = 300

    func transfer(_ id: UUID) async {
        guard let item = state.withLock({ $0.items[id] }) else { return }
        let transport = background.map {
            BackgroundTransport($0, id: id.uuidString, clock: client.configuration.clock)
        }
        let outcome = await outcome(of: item, id, by: transport)
        // Stored before it is published: neither a crash nor the list's end repeats an outcome that a listener knows.
        switch outcome {
        case .completed, .failed:
            await journal.save(id) { [self] in
                var machine = state.withLock { $0.machine }
                _ = machine.ended(id, outcome)
                return stored(machine.phases[id])
            }
        case .blocked, .cancelled: break
        }
        // Before the next transfer of the download, which may start at once.
        await transport?.end(outcome.error)
        let dropped = change { state in
            state.transfers[id] = nil
            return state.machine.ended(id, outcome)
        }
        await drop(dropped)
        switch outcome {
        // A change meanwhile may have stored the phase before.
        case .completed, .failed: await save(id)
        case .blocked(let obstacle): wake(id, after: obstacle)
        // It resumes after a relaunch.
        case .cancelled: break
        }
    }

    private func outcome(of item: Item, _ id: UUID, by transport: BackgroundTransport?) async -> StateMachine.Outcome {
        do {
            let replay = try item.stored.request.replay(id, tag: item.stored.tag)
            let response = try await client.download(
                replay, item.stored.target(for: directory.path), item.stored.options, by: transport
            ) { reason in
                item.download.tell(.restarted(reason: reason))
            } progress: { progress in
                item.download.tell(.progress(progress))
            }
            guard let file = response.file else { return .failed(.emptyBody) }
            return .completed(file)
        } catch {
            let error = PulseError(wrapping: error)
            if error.kind == .cancelled { return .cancelled }
            if error.meansAnotherAccount { return .blocked(.otherAccount) }
            let isOffline = client.environment.connectivity?.current.path == .unsatisfied
            return isOffline && error.isOfConnection ? .blocked(.noConnection) : .failed(error)
        }
    }

    /// Wakes a blocked download when there is a connection, or after a while: no event reports a login, and a monitor
    /// may be wrong.
    private func wake(_ id: UUID, after obstacle: StateMachine.Obstacle) {
        let environment = client.environment
        state.withLock { state in
            guard case .blocked = state.machine.phases[id] else { return }
            state.alarms[id] = Task.detached {
                if case .noConnection = obstacle, let monitor = environment.connectivity {
                    await monitor.waitForPath(atMost: Self.connectionPeriod, environment.clock)
                } else {
                    try? await environment.clock.sleep(Self.accountPeriod, for: .idle)
                }
                guard !Task.isCancelled else { return }
                self.change { $0.machine.unblock(id) }
            }
        }
    }
}

extension DownloadList.StateMachine.Outcome {
    /// The error, as far as a background transfer distinguishes it.
    fileprivate var error: PulseError? {
        switch self {
        case .completed: nil
        case .failed(let error): error
        // The next transfer must not take over the failure of this one.
        case .blocked(.noConnection): .noConnection
        case .cancelled, .blocked: .cancelled
        }
    }
}

extension PulseError {
    /// Whether a request found no connection, or lost it.
    fileprivate var isOfConnection: Bool {
        switch self {
        case .noConnection, .timeout: true
        case .transport(let code, _): code != .cannotWriteToFile && code != .badServerResponse
        case .retryExhausted(let last, _): last.isOfConnection
        default: false
        }
    }
}
