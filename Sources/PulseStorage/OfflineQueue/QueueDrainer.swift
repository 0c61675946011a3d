// SPDX-License-Identifier: MIT

import PulseCore

/// Sends the queue's entries: acquires the drain lock, and performs in passes what the state machine decides. Safe from
/// any thread.
///
/// A pass follows each tick of the store: a change of the state, the end of an action, or an alarm.
final class QueueDrainer: Sendable {
    /// Seconds between drain passes while another process drains the journal.
    private static let pollPeriod: TimeInterval = 5
    /// The longest time in seconds between drain passes, and so between reads of records from other processes.
    private static let tailPeriod: TimeInterval = 30

    private struct Work: Sendable {
        // In a struct: a lock around a bare closure would wrap it once more at each access by generic code.
        var send: OfflineQueue.Send?
        var drainer: Task<Void, Never>?
        /// The actions in progress.
        var actions: [Int: (entry: UUID, task: Task<Void, Never>)] = [:]
        var nextAction = 0
        /// Whether no more entries are sent, while the actions in progress complete.
        var isFinishing = false
        var isClosed = false

        var isEnding: Bool { isFinishing || isClosed }
    }

    private let store: QueueStore
    private let waiters: QueueWaiters
    private let clock: any PulseClock
    private let connectivity: any ConnectivityMonitor
    /// The file lock that the draining process holds.
    private let lock: FileLock?
    private let work = Locked(Work())

    init(_ store: QueueStore, connectivity: any ConnectivityMonitor, lock: FileLock?) {
        self.store = store
        self.connectivity = connectivity
        self.lock = lock
        (waiters, clock) = (store.waiters, store.clock)
    }

    deinit {
        closeWaits()
    }

    private var isEnding: Bool { work.withLock { $0.isEnding } }

    /// The running drainer.
    var task: Task<Void, Never>? { work.withLock { $0.drainer } }

    /// Sets the function that sends entries.
    func send(by send: @escaping OfflineQueue.Send) {
        work.withLock { $0.send = send }
    }

    /// Starts the drainer, unless it is already running.
    func begin() {
        work.withLock { work in
            guard !work.isEnding, work.drainer == nil else { return }
            // Detached: the trace, permit or refresh of the calling task does not belong to the entries.
            work.drainer = Task.detached { await self.run() }
        }
    }

    /// Starts a drain pass at once.
    func start() {
        begin()
        store.tick()
    }

    /// Ends the drainer once the actions in progress have ended.
    func beginFinishing() {
        work.withLock { $0.isFinishing = true }
        store.tick()
    }

    /// Cancels the work in progress.
    func abandon() {
        let drainer = work.withLock { work in
            work.isClosed = true
            return work.drainer
        }
        drainer?.cancel()
        closeWaits()
    }

    /// Cancels the work in progress, and waits for its end.
    func close() async {
        abandon()
        await task?.value
        lock?.close()
    }

    private func closeWaits() {
        store.close()
        waiters.close()
    }

    /// Cancels the replays of entries that were removed: a later attempt might use the token of the next user. Does not
    /// wait for their end, since the caller may be part of such a replay.
    func cancelReplaysOfRemovedEntries() {
        let actions = work.withLock { Array($0.actions.values) }
        // Read after the actions: otherwise an entry queued in between would look removed.
        let removed = store.read { machine in actions.filter { machine.entries[$0.entry] == nil } }
        for action in removed { action.task.cancel() }
    }

    // MARK: Running

    /// Acquires the drain lock and drains the queue until it is empty. Polls while another process has the lock.
    private func run() async {
        var failures = 0
        var isUnread = false
        repeat {
            // From here on, no tick is missed.
            let ticks = store.ticks()
            let pass = waiters.beginDrainPass()
            isUnread = false
            do {
                let isSender = try await acquireLock()
                failures = 0
                if isSender {
                    await store.compactIfNeeded()
                    await drainUntilIdle(ticks)
                    await releaseLock()
                } else {
                    waiters.becameIdle(inPass: pass)
                    if !isEnding, !store.read(\.isIdle) { await sleep(Self.pollPeriod, for: .idle, ticks) }
                }
            } catch {
                failures += 1
                // A newer version may have written records that this one does not understand: leave the journal alone.
                if case PulseError.custom(JournalFailure.newerVersion) = error {} else { isUnread = true }
                store.emit(.warning("the offline queue cannot read its journal: \(PulseError(wrapping: error))"))
                waiters.becameIdle(inPass: pass)
                let backoff = QueueStore.StateMachine.backoff
                let delay = backoff.delay(beforeRetry: failures, randomness: store.randomness)
                if !isEnding, isUnread || !store.read(\.isIdle) { await sleep(max(1, delay), for: .backoff, ticks) }
            }
        } while !end(isUnread: isUnread)
    }

    /// Sleeps for some seconds, or until the next tick.
    private func sleep(_ seconds: TimeInterval, for purpose: SleepPurpose, _ ticks: AsyncStream<Void>) async {
        let alarm = Task { [clock, store] in
            try? await clock.sleep(seconds, for: purpose)
            store.tick()
        }
        for await _ in ticks { break }
        alarm.cancel()
    }

    /// Ends the drainer if the queue is closed, or if the journal could be read and has nothing left to send. Returns
    /// whether it ended.
    private func end(isUnread: Bool) -> Bool {
        let pass = work.withLock { work -> Int? in
            let mayEnd = work.isEnding || Task.isCancelled || !isUnread && store.decide { $0.endIfIdle() }
            guard mayEnd else { return nil }
            work.drainer = nil
            return waiters.beginDrainPass()
        }
        // A caller that arrived after the last pass found a running drainer, and waits for its next pass: this one.
        // Later callers start a new drainer.
        if let pass { waiters.becameIdle(inPass: pass) }
        return pass != nil
    }

    // MARK: The drain lock

    /// Acquires the drain lock, unless another process has it.
    private func acquireLock() async throws -> Bool {
        try await store.journal.refresh { [self] in
            guard try lock?.tryAcquire() ?? true else { return false }
            // A leftover file that cannot be removed does no harm.
            try? store.sweepFiles()
            return true
        }
    }

    /// Whether this process still holds the drain lock. The lock file may have been deleted with its directory, and
    /// another process may hold a new one.
    ///
    /// - Parameter wasReleased: whether other processes may have sent entries since the last pass. Their records are
    ///   read then.
    private func stillHoldsLock(_ wasReleased: Bool) async -> Bool {
        do {
            guard let lock else { return true }
            guard try lock.tryAcquire() else { return false }
            guard wasReleased else { return true }
            do {
                try await store.open()
            } catch PulseError.custom(JournalFailure.missing) {
                // Handled below.
            } catch {
                // The records of other senders are unknown. The next drainer that acquires the lock reads them.
                lock.release()
                return false
            }
            // The lock file may have been deleted meanwhile.
            return try lock.tryAcquire()
        } catch JournalFailure.missing {
            // No process holds the lock. The next writer recreates the journal and the lock file.
            return true
        } catch {
            return false
        }
    }

    /// Releases the drain lock while this process only waits: a system may suspend a process, and kills it if it holds
    /// a file lock then. Returns false if this process must keep the lock.
    private func releaseLockWhileWaiting() -> Bool {
        let uptime = clock.uptime
        let isNeeded = store.read { !$0.unrecorded.isEmpty || $0.hasServerBackoff(uptime) }
        guard let lock, !isNeeded else { return false }
        lock.release()
        return true
    }

    /// Releases the drain lock, and reads the records that others appended since the last pass.
    private func releaseLock() async {
        if store.read(\.entries.isEmpty) { await store.compactAndReport() }
        lock?.release()
        try? await store.open()
    }

    // MARK: Drain passes

    private func drainUntilIdle(_ ticks: AsyncStream<Void>) async {
        // Subscribed here, so that the task misses no change even if it starts late.
        let updates = connectivity.updates
        let watch = Task { await self.watchConnectivity(updates) }
        var alarm: Alarm?
        var isWaiting = true
        var isLockReleased = false
        store.tick()
        for await _ in ticks {
            let pass = waiters.beginDrainPass()
            if work.withLock({ $0.isFinishing }) { break }
            await store.markTime()
            // Read before the actions: a replay that ends later may leave something to send.
            let isAlone = work.withLock { $0.actions.isEmpty }
            var actions: [QueueStore.StateMachine.Action] = []
            // Without work there is no need to take the lock from other processes.
            var (uptime, now) = (clock.uptime, store.time())
            if !isLockReleased || store.decide({ $0.hasWork(uptime: uptime, now: now) }) {
                guard await stillHoldsLock(isLockReleased) else { break }
                isLockReleased = false
                (uptime, now) = (clock.uptime, store.time())
                actions = store.decide { $0.next(uptime: uptime, now: now) }
            }
            if isWaiting, actions.contains(where: \.isSend) {
                isWaiting = false
                store.emit(.offlineQueueDraining(count: store.read(\.pendingCount)))
            }
            actions.forEach(begin)
            if isAlone, actions.isEmpty {
                isWaiting = true
                isLockReleased = releaseLockWhileWaiting()
                waiters.becameIdle(inPass: pass)
            }
            if store.decide({ $0.endIfIdle() }) { break }
            setAlarm(&alarm)
        }
        store.decide { $0.sleep = nil }
        alarm?.task.cancel()
        watch.cancel()
        await endActions()
    }

    private func watchConnectivity(_ updates: AsyncStream<ConnectivityStatus>) async {
        var last: ConnectivityStatus?
        for await status in updates {
            if let last, last != status { store.emit(.connectivityChanged(status)) }
            if last?.path == .unsatisfied, status.path == .satisfied { store.change { $0.resume() } }
            last = status
        }
    }

    /// A timer that starts a drain pass when the drainer's sleep is over.
    private struct Alarm {
        let task: Task<Void, Never>
        let due: TimeInterval
        let purpose: SleepPurpose
        let hasFired: Locked<Bool>
    }

    private func setAlarm(_ alarm: inout Alarm?) {
        let (uptime, now) = (clock.uptime, store.time())
        let (due, purpose) = store.decide { machine -> (TimeInterval?, SleepPurpose) in
            let due = machine.sleep(uptime: uptime, now: now, atMost: Self.tailPeriod)
            return (due, machine.isDelayedByFailure(uptime) ? .backoff : .idle)
        }
        // An alarm that is due earlier is good enough: when it fires, the next pass sets a new one.
        if let due, let alarm, alarm.due <= due, alarm.purpose == purpose, !alarm.hasFired.withLock({ $0 }) { return }
        alarm?.task.cancel()
        alarm = due.map { due in
            let hasFired = Locked(false)
            let task = Task { [clock, store] in
                guard (try? await clock.sleep(due - uptime, for: purpose)) != nil else { return }
                hasFired.withLock { $0 = true }
                try? await store.open()
                store.tick()
            }
            return Alarm(task: task, due: due, purpose: purpose, hasFired: hasFired)
        }
    }

    // MARK: Actions

    private func begin(_ action: QueueStore.StateMachine.Action) {
        work.withLock { work in
            work.nextAction += 1
            let task = Task { [number = work.nextAction] in
                await perform(action)
                self.work.withLock { _ = $0.actions.removeValue(forKey: number) }
                store.tick()
            }
            work.actions[work.nextAction] = (action.id, task)
        }
    }

    private func endActions() async {
        let (tasks, isFinishing) = work.withLock { ($0.actions.values.map(\.task), $0.isFinishing) }
        for task in tasks {
            if !isFinishing { task.cancel() }
            await task.value
        }
    }

    private func perform(_ action: QueueStore.StateMachine.Action) async {
        switch action {
        case .end(let id, let reason): await store.end(id, reason)
        case .record(let id, let record, let tag): await store.write(record, id, tag: tag)
        case .send(let id, let tag):
            // If the entry was removed since, the next entry of its tag may be sent.
            guard store.read({ $0.entries[id] != nil }) else { return store.settle(id, tag: tag) }
            await store.finish(id, tag: tag, replay(id))
        }
    }

    private func replay(_ id: UUID) async -> ReplayOutcome {
        do {
            guard let send = work.withLock({ $0.send }) else { throw PulseError.cancelled }
            return await send(try await store.replay(of: id))
        } catch {
            return ReplayOutcome(result: .failure(PulseError(wrapping: error)))
        }
    }
}
