// SPDX-License-Identifier: MIT

import PulseCore

/// The queue's journal and the state that is folded from it. Safe from any thread.
///
/// The journal passes every record to ``apply``, in order. The effects reach waiters and events outside the lock.
final class QueueStore: Sendable {
    private struct State {
        var machine: StateMachine
        var ticks: AsyncStream<Void>.Continuation?
        var isClosed = false
    }

    let clock: any PulseClock
    let randomness: any Randomness
    let waiters: QueueWaiters
    let journal: any Journal
    let files: BodyFiles?
    let ended: EndedEntries?
    /// Applies a change of the journal; tests call it themselves. It does not retain the store, which owns the journal.
    let apply: @Sendable (JournalChange) -> Void
    private let journalFile: URL?
    let requestExpiry: TimeInterval
    private let report: Report
    private let state: Locked<State>

    /// - Parameter directory: the directory of the journal; nil keeps everything in memory.
    init(
        _ policy: OfflineQueuePolicy, directory: URL?, clock: any PulseClock, randomness: any Randomness,
        waiters: QueueWaiters, events: (any EventSink)?, disk: Disk
    ) {
        let machine = StateMachine(
            capacity: policy.maxQueueSize, maxAttempts: policy.maxAttempts, dropsOldest: policy.whenFull == .dropOldest)
        let state = Locked(State(machine: machine))
        let files = directory.map { BodyFiles(in: $0, disk: disk) }
        let ended = directory.map { EndedEntries(in: $0) }
        let report = Report(files: files, ended: ended, waiters: waiters, events: events)
        let apply: @Sendable (JournalChange) -> Void = { change in
            if case .damaged(let bytes, let kept) = change { return report.damage(bytes, kept) }
            let (effects, ticks) = state.withLock { ($0.machine.apply(change), $0.machine.maySleepOn ? nil : $0.ticks) }
            ticks?.yield()
            effects.forEach(report.perform)
        }
        let file = directory?.appendingPathComponent("journal", isDirectory: false)
        journal = if let file { FileJournal(file, disk: disk, apply: apply) } else { MemoryJournal(apply: apply) }
        (self.clock, self.randomness, self.waiters, requestExpiry) = (clock, randomness, waiters, policy.requestExpiry)
        (self.state, self.files, self.ended, self.report) = (state, files, ended, report)
        (journalFile, self.apply) = (file, apply)
    }

    // MARK: State

    /// Reads the machine's state.
    func read<Value>(_ body: (StateMachine) throws -> Value) rethrows -> Value {
        try state.withLock { try body($0.machine) }
    }

    /// Changes the machine's state without waking the drainer, which runs a pass anyway, has less to do, or is woken by
    /// the caller.
    func decide<Value>(_ body: (inout StateMachine) throws -> Value) rethrows -> Value {
        try state.withLock { try body(&$0.machine) }
    }

    /// Changes the machine's state, and wakes the drainer.
    func change(_ body: (inout StateMachine) -> Void) {
        decide(body)
        tick()
    }

    /// A stream that yields whenever an action may be due. It has one subscriber at a time: a new one ends the last
    /// stream.
    func ticks() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (replaced, isClosed) = state.withLock { state in
            defer { state.ticks = continuation }
            return (state.ticks, state.isClosed)
        }
        replaced?.finish()
        if isClosed { continuation.finish() }
        return stream
    }

    func tick() {
        state.withLock { $0.ticks }?.yield()
    }

    /// Ends the drainer's ticks.
    func close() {
        let ticks = state.withLock { state in
            state.isClosed = true
            defer { state.ticks = nil }
            return state.ticks
        }
        ticks?.finish()
    }

    func emit(_ event: @autoclosure () -> NetworkEvent) {
        report.emit(event())
    }

    // MARK: Reading

    /// Whether the journal may have entries, or a crash may have left bodies. Judged by the journal's size, without
    /// reading it.
    var mayHaveEntries: Bool {
        let size = journalFile.flatMap { try? SystemFile.status($0.path)?.size } ?? 0
        return size > JournalHeader.line.count || files?.isEmpty == false
    }

    /// Reads the records that other processes have appended.
    func open() async throws {
        try await journal.refresh {}
        _ = time()
    }

    /// An entry and its request; nil if the entry does not exist, or its request cannot be read.
    func entry(_ id: UUID) async throws -> (StateMachine.Entry, StoredRequest)? {
        let found = Locked<StateMachine.Entry?>(nil)
        let record = try await journal.read { [self] in
            let entry = read { $0.entries[id] }
            found.withLock { $0 = entry }
            return entry?.location
        }
        guard let record, let entry = found.withLock({ $0 }), let stored = try? StoredRequest(decoding: record.payload)
        else { return nil }
        return (entry, stored)
    }

    /// Reads the requests of entries one by one, in their order: in memory the store keeps only their locations. Those
    /// of a newer version are unreadable, and fail when they are sent.
    func requests(
        _ isWanted: (StateMachine.Entry) -> Bool
    ) async throws -> (requests: [OfflineQueue.Entry], unreadable: [UUID]) {
        try await open()
        let wanted = read { machine in
            machine.entries.filter { isWanted($0.value) }.sorted { $0.value.order < $1.value.order }.map(\.key)
        }
        var (requests, unreadable): ([OfflineQueue.Entry], [UUID]) = ([], [])
        for id in wanted {
            if let (entry, stored) = try await entry(id),
                let request = OfflineQueue.Entry(id, stored, entry, expiresAt: expiresAt(entry))
            {
                requests.append(request)
            } else {
                unreadable.append(id)
            }
        }
        return (requests, unreadable)
    }

    /// The replay of an entry's newest revision, to which the outcome will apply. Throws
    /// ``JournalFailure/damagedRecord``, and ``JournalFailure/missing`` if the entry's body is gone.
    func replay(of id: UUID) async throws -> QueuedSend {
        let record = try await journal.read { [self] in decide { $0.takeRevisionToSend(of: id) } }
        guard let record else { throw JournalFailure.damagedRecord }
        let stored = try StoredRequest(decoding: record.payload)
        let body = try stored.file.map { name in
            guard let files, files.exists(name) else { throw JournalFailure.missing }
            return files.url(name)
        }
        return try stored.replay(id, tag: record.tag, body: body)
    }

    /// The queue's time in milliseconds. Call it only after the journal was read.
    func time() -> Int64 {
        let (uptime, wall) = (clock.uptime, clock.now.milliseconds)
        return decide { $0.time.now(uptime: uptime, wall: wall) }
    }

    /// When an entry expires by the wall clock as it is now; nil for never.
    func expiresAt(_ entry: StateMachine.Entry) -> Date? {
        entry.expiry == 0 ? nil : Date(milliseconds: clock.now.milliseconds + entry.expiry - time())
    }
}
