// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulseStorage

/// The list of a ``Downloads``: performs the actions of its state machine, and stores the changes.
///
/// Each change is made in memory first. The journal creates the record of a download when it writes it, from the state
/// at that time: so the last record is right, in whatever order changes and writes occur.
final class DownloadList: Sendable {
    struct Item: Sendable {
        let download: Download
        var stored: StoredDownload
    }

    enum Opening: Sendable {
        case none
        case running(Task<Void, any Error>)
        case done
        case closed
    }

    struct State: Sendable {
        var opening = Opening.none
        var machine: StateMachine
        var items: [UUID: Item] = [:]
        var transfers: [UUID: Task<Void, Never>] = [:]
        /// The tasks that wake the downloads that wait for a connection or an account.
        var alarms: [UUID: Task<Void, Never>] = [:]
        /// The places of downloads that are being stored, or whose partial files are being removed.
        var reserved: Set<String> = []

        /// Reserves the place of a download that is added. Throws ``TransferFailure/busy`` if it is taken.
        ///
        /// - Parameter list: the path of the list.
        mutating func reserve(_ download: StoredDownload, in list: String) throws {
            let place = download.place(in: list)
            let isTaken = items.contains { id, item in
                item.stored.place(in: list) == place && machine.phases[id]?.isCompleted == false
            }
            guard !isTaken, reserved.insert(place).inserted else { throw TransferFailure.busy.asPulseError }
        }
    }

    let client: PulseClient
    let directory: URL
    private let maxConcurrent: Int
    let background: BackgroundTransfers?
    let state: Locked<State>
    let journal: DownloadJournal

    init(_ directory: URL, _ client: PulseClient, maxConcurrent: Int, _ background: BackgroundTransfers? = nil) {
        self.background = background
        self.client = client
        self.directory = directory.standardizedFileURL
        self.maxConcurrent = maxConcurrent
        state = Locked(State(machine: StateMachine(maxConcurrent: max(1, maxConcurrent))))
        journal = DownloadJournal(self.directory, events: client.environment.events)
    }

    var all: [Download] {
        state.withLock { state in state.machine.order.compactMap { state.items[$0]?.download } }
    }

    // MARK: Opening and closing

    /// Opens the list. Returns whether it was open before.
    @discardableResult
    func open() async throws -> Bool {
        guard directory.isFileURL else {
            throw PulseError.invalidRequest(reason: "the directory of a list of downloads is no file URL")
        }
        guard maxConcurrent > 0 else {
            throw PulseError.invalidRequest(reason: "maxConcurrent is \(maxConcurrent)")
        }
        var isOpen = false
        let opening = try state.withLock { state -> Task<Void, any Error>? in
            switch state.opening {
            case .running(let task): return task
            case .done:
                isOpen = true
                return nil
            case .closed: throw PulseError.cancelled
            case .none:
                // Detached: the cancellation of one caller must not end the opening of others.
                let task = Task.detached { try await self.read() }
                state.opening = .running(task)
                return task
            }
        }
        do {
            try await opening?.value
        } catch {
            throw PulseError(wrapping: error)
        }
        return isOpen
    }

    private func read() async throws {
        do {
            try await background?.start()
            let entries = try await journal.open()
            for entry in entries {
                let phase = entry.machinePhase(in: directory.path)
                let download = Download(entry.id, self, phase.event)
                if case .completed = phase {
                    download.close()
                    // The process may have ended before it dropped the transfer.
                    await background?.forget(entry.id.uuidString)
                }
                change { state in
                    guard case .running = state.opening else { return [] }
                    state.items[entry.id] = Item(download: download, stored: entry.stored)
                    return state.machine.add(entry.id, phase)
                }
            }
            state.withLock { if case .running = $0.opening { $0.opening = .done } }
            // A transfer of a client that has shut down stops by itself.
            _ = client.calls.add(self) { [weak self] in self?.stopAll() }
        } catch {
            state.withLock { if case .running = $0.opening { $0.opening = .none } }
            throw error
        }
    }

    /// Resumes the downloads that were stopped, but not by the user.
    func resumeStopped() {
        change { $0.machine.resumeStopped() }
    }

    /// Stops all downloads, until the next start.
    private func stopAll() {
        change { $0.machine.stopAll() }
    }

    /// Closes the list without waiting.
    func abandon() {
        Task.detached { await self.close() }
    }

    func close() async {
        let opening = state.withLock { $0.opening }
        if case .running(let task) = opening { _ = await task.result }
        change { state in
            state.opening = .closed
            return state.machine.close()
        }
        for transfer in state.withLock({ Array($0.transfers.values) }) { await transfer.value }
        // The downloads retain this list: released here, it is freed with its client.
        let (alarms, items) = state.withLock { state in
            defer { (state.alarms, state.items) = ([:], [:]) }
            return (state.alarms, state.items)
        }
        client.calls.remove(self)
        alarms.values.forEach { $0.cancel() }
        items.values.forEach { $0.download.close() }
        await journal.close()
    }

    // MARK: Changes

    func add<E: Endpoint>(
        _ endpoint: E, _ target: DownloadRun.Target, _ download: Download.Options, _ options: RequestOptions
    ) async throws -> Download {
        if let fault = download.fault { throw PulseError.invalidRequest(reason: fault) }
        _ = try target.place("")
        try await open()
        let id = client.configuration.randomness.uuid()
        return try await client.drafting(endpoint, options.ofDownload(endpoint), accept: "*/*", storing: .disabled) {
            draft in
            let stored = try self.stored(draft, target, download)
            let place = stored.place(in: directory.path)
            try state.withLock { try $0.reserve(stored, in: directory.path) }
            defer { _ = state.withLock { $0.reserved.remove(place) } }
            try await journal.append(id, stored)
            let download = Download(id, self, .waiting)
            change { state in
                guard case .done = state.opening else {
                    // The next list of the directory reads it.
                    download.close()
                    return []
                }
                state.items[id] = Item(download: download, stored: stored)
                return state.machine.add(id, .waiting)
            }
            return download
        }
    }

    /// Creates the record of a request.
    private func stored(
        _ draft: QueueDraft, _ target: DownloadRun.Target, _ download: Download.Options
    ) throws -> StoredDownload {
        guard case .inRequest = draft.body else {
            throw PulseError.unsupported("a list of downloads stores no request body that is a file or a stream")
        }
        try DownloadRun.check(draft.request, download)
        let request = StoredRequest(
            draft, body: draft.request.httpBody, file: nil, now: client.environment.clock.now)
        return StoredDownload(
            request, target, download,
            // Kept, so that another request for the content finds the partial file of the first one.
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
            let isCompleted = state.withLock { $0.machine.phases[id]?.isCompleted ?? true }
            guard !isCompleted else { throw PulseError.cancelled }
            try await journal.append(id, stored)
            // It may have left the list meanwhile.
            state.withLock { $0.items[id]?.stored = stored }
        }
        await change(id, waits: false) { $0.change(id) }
    }

    /// Changes a download, waits for the end of a transfer that the change stops, and stores the resulting phase.
    private func change(_ id: UUID, waits: Bool = true, _ body: (inout StateMachine) -> [StateMachine.Action]) async {
        var transfer: Task<Void, Never>?
        let dropped = change { state in
            // Another list may have the directory by then.
            if case .closed = state.opening { return [] }
            transfer = state.transfers[id]
            return body(&state.machine)
        }
        if waits { await transfer?.value }
        await drop(dropped)
        await save(id)
    }

    /// Changes the state and performs the resulting actions. Returns the downloads whose partial files are obsolete.
    @discardableResult
    func change(_ body: (inout State) -> [StateMachine.Action]) -> [UUID: StoredDownload] {
        var stopped: [Task<Void, Never>] = []
        var dropped: [UUID: StoredDownload] = [:]
        // Freed outside the lock.
        var left: [UUID: Item] = [:]
        state.withLock { state in
            for action in body(&state) {
                switch action {
                case .tell(let id, let event):
                    // Under the lock, so that events come in order. No foreign code runs here.
                    state.items[id]?.download.tell(event)
                case .start(let id):
                    if let alarm = state.alarms.removeValue(forKey: id) { stopped.append(alarm) }
                    // Detached: the trace context of the caller must not pass to the next download.
                    state.transfers[id] = Task.detached { await self.transfer(id) }
                case .stop(let id):
                    if let task = state.transfers[id] { stopped.append(task) }
                case .drop(let id):
                    if let alarm = state.alarms.removeValue(forKey: id) { stopped.append(alarm) }
                    guard let item = state.items[id] else { continue }
                    dropped[id] = item.stored
                    state.reserved.insert(item.stored.place(in: directory.path))
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

    func drop(_ dropped: [UUID: StoredDownload]) async {
        for (id, stored) in dropped {
            await background?.forget(id.uuidString)
            await DownloadRun.dropPartial(stored.target(for: directory.path), key: stored.contentKey)
            _ = state.withLock { $0.reserved.remove(stored.place(in: directory.path)) }
        }
    }

    /// Stores the current phase of a download.
    func save(_ id: UUID) async {
        await journal.save(id) { [self] in stored(state.withLock { $0.machine.phases[id] }) }
    }

    func stored(_ phase: StateMachine.Phase?) -> StoredPhase? {
        phase?.stored(now: client.environment.clock.now, list: directory.path)
    }
}
