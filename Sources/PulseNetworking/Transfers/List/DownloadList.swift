// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The list of a ``Downloads``: carries out what its state machine decides, and stores it.
///
/// Each change is decided in memory first. The record of a download is made when the log writes it, from what holds
/// then: so the last record is right, whatever order changes and writes come in.
final class DownloadList: Sendable {
    /// Seconds until a download of another account asks again.
    private static let accountPeriod: TimeInterval = 60

    private struct Item: Sendable {
        let download: Download
        var stored: StoredDownload
    }

    private enum Opening: Sendable {
        case none
        case running(Task<Void, any Error>)
        case done
        case closed
    }

    private struct State: Sendable {
        var opening = Opening.none
        var machine: StateMachine
        var items: [UUID: Item] = [:]
        var transfers: [UUID: Task<Void, Never>] = [:]
        /// What wakes the downloads that wait for a connection or an account.
        var alarms: [UUID: Task<Void, Never>] = [:]
        /// The targets of downloads that are being stored.
        var reserved: Set<String> = []

        /// Reserves the target of a download that is added. Throws ``TransferFailure/busy`` if it is taken.
        mutating func reserve(_ download: StoredDownload) throws {
            let isTaken = items.contains { id, item in
                item.stored.path == download.path && machine.phases[id]?.hasEnded == false
            }
            guard !isTaken, reserved.insert(download.path).inserted else { throw TransferFailure.busy.asPulseError }
        }
    }

    let client: PulseClient
    let directory: URL
    private let maximumConcurrent: Int
    private let state: Locked<State>
    private let log: DownloadLog

    init(_ directory: URL, _ client: PulseClient, maximumConcurrent: Int) {
        self.client = client
        self.directory = directory.standardizedFileURL
        self.maximumConcurrent = maximumConcurrent
        state = Locked(State(machine: StateMachine(maximumConcurrent: max(1, maximumConcurrent))))
        log = DownloadLog(self.directory, events: client.environment.events)
    }

    var all: [Download] {
        state.withLock { state in state.machine.order.compactMap { state.items[$0]?.download } }
    }

    // MARK: Opening and closing

    func open() async throws {
        guard directory.isFileURL else {
            throw PulseError.invalidRequest(reason: "the directory of a list of downloads is no file URL")
        }
        guard maximumConcurrent > 0 else {
            throw PulseError.invalidRequest(reason: "maximumConcurrent is \(maximumConcurrent)")
        }
        let opening = try state.withLock { state -> Task<Void, any Error>? in
            switch state.opening {
            case .running(let task): return task
            case .done: return nil
            case .closed: throw PulseError.cancelled
            case .none:
                // Not the caller's: its cancellation would end the others' opening.
                let task = Task { try await self.read() }
                state.opening = .running(task)
                return task
            }
        }
        do {
            try await opening?.value
        } catch {
            throw PulseError(wrapping: error)
        }
    }

    private func read() async throws {
        do {
            let entries = try await log.open()
            for entry in entries {
                let phase = entry.machinePhase
                let download = Download(entry.id, self, phase.event)
                if case .completed = phase { download.close() }
                change { state in
                    guard case .running = state.opening else { return [] }
                    state.items[entry.id] = Item(download: download, stored: entry.stored)
                    return state.machine.add(entry.id, phase)
                }
            }
            state.withLock { if case .running = $0.opening { $0.opening = .done } }
        } catch {
            state.withLock { if case .running = $0.opening { $0.opening = .none } }
            throw error
        }
    }

    /// Ends all work, without waiting for its end.
    func abandon() {
        shut()
        log.release()
    }

    private func shut() {
        let (alarms, items) = state.withLock { state in
            state.opening = .closed
            return (state.alarms.values, state.items.values)
        }
        alarms.forEach { $0.cancel() }
        change { $0.machine.close() }
        items.forEach { $0.download.close() }
    }

    func close() async {
        let opening = state.withLock { $0.opening }
        if case .running(let task) = opening { _ = await task.result }
        change { $0.machine.close() }
        for transfer in state.withLock({ Array($0.transfers.values) }) { await transfer.value }
        shut()
        await log.close()
        state.withLock { $0.items = [:] }
    }

    // MARK: Changes

    func add<E: Endpoint>(
        _ endpoint: E, _ target: DownloadRun.Target, _ download: DownloadOptions, _ options: RequestOptions
    ) async throws -> Download {
        if let fault = download.fault { throw PulseError.invalidRequest(reason: fault) }
        _ = try target.place("")
        try await open()
        let id = client.configuration.randomness.uuid()
        return try await client.drafting(endpoint, options.ofDownload(endpoint), accept: "*/*", storing: .disabled) {
            draft in
            let stored = try self.stored(draft, target, download)
            let path = stored.path
            if !stored.isDirectory { try state.withLock { try $0.reserve(stored) } }
            defer { _ = state.withLock { $0.reserved.remove(path) } }
            try await log.append(id, stored) {}
            let download = Download(id, self, .waiting)
            change { state in
                // After a shutdown it waits for the next list.
                guard case .done = state.opening else { return [] }
                state.items[id] = Item(download: download, stored: stored)
                return state.machine.add(id, .waiting)
            }
            return download
        }
    }

    /// What is stored of a request.
    private func stored(
        _ draft: QueueDraft, _ target: DownloadRun.Target, _ download: DownloadOptions
    ) throws -> StoredDownload {
        guard case .inRequest = draft.body else {
            throw PulseError.unsupported("a list of downloads stores no request body that is a file or a stream")
        }
        let request = StoredRequest(
            draft, body: draft.request.httpBody, file: nil, now: client.environment.clock.now)
        return StoredDownload(
            request, target, download,
            // Kept, so that another request for the content finds what the first one has brought.
            contentKey: download.contentKey ?? draft.request.url?.absoluteString ?? "",
            tag: draft.options.tag, list: directory.path)
    }

    func pause(_ id: UUID) async {
        await change(id) { $0.pause(id) }
    }

    func resume(_ id: UUID) async {
        await change(id, waits: false) { $0.resume(id) }
    }

    func cancel(_ id: UUID) async {
        await change(id) { $0.cancel(id) }
    }

    func resume<E: Endpoint>(_ id: UUID, with endpoint: E, _ options: RequestOptions) async throws {
        try await client.drafting(endpoint, options.ofDownload(endpoint), accept: "*/*", storing: .disabled) { draft in
            guard let item = state.withLock({ $0.items[id] }) else { throw PulseError.cancelled }
            let stored = try self.stored(draft, item.stored.target(for: directory.path), item.stored.options)
            try await log.append(id, stored) {
                try self.state.withLock { state in
                    switch state.machine.phases[id] {
                    case nil, .completed: throw PulseError.cancelled
                    default: state.items[id]?.stored = stored
                    }
                }
            }
        }
        await change(id, waits: false) { $0.change(id) }
    }

    /// Changes a download, waits until a transfer that is stopped for it has ended, and stores what holds then.
    private func change(_ id: UUID, waits: Bool = true, _ body: (inout StateMachine) -> [StateMachine.Action]) async {
        var transfer: Task<Void, Never>?
        let dropped = change { state in
            transfer = state.transfers[id]
            return body(&state.machine)
        }
        if waits { await transfer?.value }
        await drop(dropped)
        await save(id)
    }

    /// Changes the state, and carries out what follows. Returns the downloads whose partial files are of no use any
    /// more.
    @discardableResult
    private func change(_ body: (inout State) -> [StateMachine.Action]) -> [StoredDownload] {
        var stopped: [Task<Void, Never>] = []
        var dropped: [StoredDownload] = []
        // Freed outside the lock.
        var left: [UUID: Item] = [:]
        state.withLock { state in
            for action in body(&state) {
                switch action {
                case .tell(let id, let event):
                    // Under the lock, so that events come in order. No foreign code runs here.
                    state.items[id]?.download.tell(event)
                case .start(let id):
                    state.alarms.removeValue(forKey: id)?.cancel()
                    state.transfers[id] = Task { await self.transfer(id) }
                case .stop(let id):
                    if let task = state.transfers[id] { stopped.append(task) }
                case .drop(let id):
                    state.alarms.removeValue(forKey: id)?.cancel()
                    if let item = state.items[id] { dropped.append(item.stored) }
                }
            }
            if state.items.count > state.machine.order.count {
                left = state.items.filter { state.machine.phases[$0.key] == nil }
                for id in left.keys { state.items[id] = nil }
            }
        }
        // Outside the lock: a cancellation runs handlers.
        stopped.forEach { $0.cancel() }
        return dropped
    }

    private func drop(_ dropped: [StoredDownload]) async {
        for stored in dropped {
            await DownloadRun.dropPartial(stored.target(for: directory.path), key: stored.contentKey)
        }
    }

    /// Stores what a download does now.
    private func save(_ id: UUID) async {
        await log.save(id) {
            self.state.withLock { $0.machine.phases[id]?.stored(now: self.client.environment.clock.now) }
        }
    }

    // MARK: Transfers

    private func transfer(_ id: UUID) async {
        guard let item = state.withLock({ $0.items[id] }) else { return }
        let outcome = await outcome(of: item, id)
        // Stored before it is told: what a listener knows of, a crash does not repeat.
        if case .completed(let file) = outcome { await log.save(id) { .completed(path: file.path) } }
        let dropped = change { state in
            state.transfers[id] = nil
            return state.machine.ended(id, outcome)
        }
        await drop(dropped)
        switch outcome {
        case .completed: if state.withLock({ $0.items[id] }) == nil { await save(id) }
        case .failed: await save(id)
        case .blocked(let obstacle): wake(id, after: obstacle)
        // After a relaunch it goes on.
        case .cancelled: break
        }
    }

    private func outcome(of item: Item, _ id: UUID) async -> StateMachine.Outcome {
        do {
            let replay = try item.stored.request.replay(id, tag: item.stored.tag)
            let response = try await client.download(
                replay, item.stored.target(for: directory.path), item.stored.options
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

    /// Wakes a blocked download when there is a connection, or after a while: another account is logged in unnoticed.
    private func wake(_ id: UUID, after obstacle: StateMachine.Obstacle) {
        let environment = client.environment
        state.withLock { state in
            guard case .blocked = state.machine.phases[id] else { return }
            state.alarms[id] = Task {
                switch obstacle {
                case .noConnection:
                    guard let updates = environment.connectivity?.updates else { break }
                    for await status in updates where status.path != .unsatisfied { break }
                case .otherAccount:
                    try? await environment.clock.sleep(Self.accountPeriod, for: .idle)
                }
                guard !Task.isCancelled else { return }
                self.change { $0.machine.unblock(id) }
            }
        }
    }
}

extension DownloadLog.Entry {
    /// What the download does after a relaunch.
    fileprivate var machinePhase: DownloadList.StateMachine.Phase {
        switch phase {
        case .underWay: .waiting
        case .paused: .paused
        case .completed(let path): .completed(URL(fileURLWithPath: path))
        case .failed(let reason): .failed(.custom(reason.summary))
        }
    }
}

extension DownloadList.StateMachine.Phase {
    fileprivate var hasEnded: Bool {
        switch self {
        case .completed, .failed: true
        case .waiting, .running, .blocked, .paused: false
        }
    }

    /// The event that tells it.
    fileprivate var event: Download.Event {
        switch self {
        case .waiting, .running, .blocked: .waiting
        case .paused: .paused
        case .completed(let file): .completed(file)
        case .failed(let error): .failed(error)
        }
    }

    /// What a relaunch finds.
    fileprivate func stored(now: Date) -> StoredPhase {
        switch self {
        case .waiting, .running(then: .itsEnd), .running(then: .turn), .blocked: .underWay
        case .paused, .running(then: .pause), .running(then: .removal): .paused
        case .completed(let file): .completed(path: file.path)
        case .failed(let error): .failed(StoredReason(error, now: now))
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
