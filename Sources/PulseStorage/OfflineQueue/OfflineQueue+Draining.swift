// SPDX-License-Identifier: MIT

import PulseCore

extension OfflineQueue {
    /// Seconds between drain passes while another process drains the journal.
    private static let pollPeriod: TimeInterval = 5
    /// The longest time in seconds between drain passes, and so between reads of records from other processes.
    private static let tailPeriod: TimeInterval = 30

    private enum LockAttempt {
        case acquired
        case heldElsewhere
        case failed(any Error)
    }

    /// Starts the drainer. A running drainer starts a drain pass at once.
    func startDraining() {
        beginDraining()
        core.tick()
    }

    /// Starts the drainer, unless it is already running.
    func beginDraining() {
        work.withLock { work in
            guard !work.isClosed, work.drainer == nil else { return }
            // Detached: the trace, permit or refresh of the calling task does not belong to the entries.
            work.drainer = Task.detached { await self.runDrainer() }
        }
    }

    /// Acquires the drain lock and drains the queue, until nothing is left. Polls while another process has the lock.
    private func runDrainer() async {
        var failures = 0
        var isUnread = false
        repeat {
            // From here on, no tick is missed.
            let ticks = core.ticks()
            let pass = core.beginDrainPass()
            let attempt = await acquireDrainLock()
            isUnread = false
            switch attempt {
            case .acquired:
                failures = 0
                await compactIfNeeded()
                await drainUntilIdle(ticks)
                await releaseDrainLock()
            case .heldElsewhere:
                failures = 0
                core.becameIdle(inPass: pass)
                if !core.read(\.isIdle) { await sleep(Self.pollPeriod, for: .idle, ticks) }
            case .failed(let error):
                failures += 1
                // A newer version may have written records that this one does not understand: leave the journal alone.
                if case JournalFailure.newerVersion = error {} else { isUnread = true }
                core.emit(.warning("the offline queue cannot read its journal: \(PulseError(wrapping: error))"))
                core.becameIdle(inPass: pass)
                let delay = StateMachine.backoff.delay(beforeRetry: failures, randomness: randomness)
                if isUnread || !core.read(\.isIdle) { await sleep(max(1, delay), for: .backoff, ticks) }
            }
        } while !endDrainer(isUnread: isUnread)
    }

    /// Sleeps for that many seconds, or until the next tick.
    private func sleep(_ seconds: TimeInterval, for purpose: SleepPurpose, _ ticks: AsyncStream<Void>) async {
        let alarm = Task { [clock, core] in
            try? await clock.sleep(seconds, for: purpose)
            core.tick()
        }
        for await _ in ticks { break }
        alarm.cancel()
    }

    /// Ends the drainer if the queue is closed, or if the journal could be read and has nothing left to send. Returns
    /// whether it ended.
    private func endDrainer(isUnread: Bool) -> Bool {
        let pass = work.withLock { work -> Int? in
            let mayEnd = work.isClosed || Task.isCancelled || !isUnread && core.decide { $0.endIfIdle() }
            guard mayEnd else { return nil }
            work.drainer = nil
            return core.beginDrainPass()
        }
        // A caller that arrived after the last pass found a running drainer, and waits for its next pass: this one.
        // Later callers start a new drainer.
        if let pass { core.becameIdle(inPass: pass) }
        return pass != nil
    }

    private func acquireDrainLock() async -> LockAttempt {
        let isAcquired = Locked(true)
        do {
            try await log.refresh { [self] in
                guard let drainLock else { return }
                let hasLock = try drainLock.tryAcquire()
                isAcquired.withLock { $0 = hasLock }
                // A leftover file that cannot be removed does no harm.
                if hasLock { try? sweepFiles() }
            }
            return isAcquired.withLock { $0 } ? .acquired : .heldElsewhere
        } catch PulseError.custom(let failure as JournalFailure) {
            return .failed(failure)
        } catch {
            return .failed(error)
        }
    }

    /// Whether this process still holds the drain lock. The lock file may have been deleted with its directory, and
    /// another process may hold a new one.
    ///
    /// - Parameter wasReleased: whether other processes may have sent entries since the last pass. Their records are
    ///   read then.
    private func stillHoldsDrainLock(_ wasReleased: Bool) async -> Bool {
        do {
            guard let drainLock else { return true }
            guard try drainLock.tryAcquire() else { return false }
            guard wasReleased else { return true }
            do {
                try await open()
            } catch PulseError.custom(JournalFailure.missing) {
                // Handled below.
            } catch {
                // The records of other senders are unknown. The next drainer that acquires the lock reads them.
                drainLock.release()
                return false
            }
            // The lock file may have been deleted meanwhile.
            return try drainLock.tryAcquire()
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
        guard let drainLock, core.read({ $0.unrecorded.isEmpty && !$0.hasServerBackoff(clock.uptime) }) else {
            return false
        }
        drainLock.release()
        return true
    }

    /// Removes bodies without an entry. Call it under the journal's lock. Throws ``JournalFailure``.
    func sweepFiles() throws {
        try files?.sweep { [core] id in core.read { $0.entries[id] != nil } }
    }

    /// Releases the drain lock, and reads the records that others appended since the last pass.
    private func releaseDrainLock() async {
        if core.read({ $0.entries.isEmpty }) { await compactAndReport() }
        drainLock?.release()
        try? await open()
    }

    // MARK: Sending

    private func drainUntilIdle(_ ticks: AsyncStream<Void>) async {
        // Subscribed here, so that the task misses no change even if it starts late.
        let updates = connectivity.updates
        let watch = Task { await self.watchConnectivity(updates) }
        var alarm: Alarm?
        var isWaiting = true
        var isLockReleased = false
        core.tick()
        for await _ in ticks {
            let pass = core.beginDrainPass()
            // Read before the actions: a replay that ends later may leave something to send.
            let hasNoReplays = work.withLock { $0.replays.isEmpty }
            var actions: [StateMachine.Action] = []
            // Without work there is no need to take the lock from other processes.
            if !isLockReleased || core.hasWork(uptime: clock.uptime, now: clock.now.milliseconds) {
                guard await stillHoldsDrainLock(isLockReleased) else { break }
                isLockReleased = false
                actions = core.drainPass(uptime: clock.uptime, now: clock.now.milliseconds)
            }
            if isWaiting, actions.contains(where: \.isSend) {
                isWaiting = false
                core.emit(.offlineQueueDraining(count: core.read(\.pendingCount)))
            }
            perform(actions)
            if hasNoReplays, actions.isEmpty {
                isWaiting = true
                isLockReleased = releaseLockWhileWaiting()
                core.becameIdle(inPass: pass)
            }
            if core.decide({ $0.endIfIdle() }) { break }
            let uptime = clock.uptime
            let due = core.sleep(uptime: uptime, now: clock.now.milliseconds, atMost: Self.tailPeriod)
            // An alarm that is due earlier is good enough: when it fires, the next pass sets a new one.
            let purpose: SleepPurpose = core.read { $0.isDelayedByFailure(uptime) } ? .backoff : .idle
            if let due, let alarm, alarm.due <= due, alarm.purpose == purpose, !alarm.hasFired.withLock({ $0 }) {
                continue
            }
            alarm?.task.cancel()
            alarm = due.map { self.alarm(at: $0, in: $0 - uptime, for: purpose) }
        }
        core.endSleep()
        alarm?.task.cancel()
        watch.cancel()
        await endReplays()
    }

    /// A timer that starts a drain pass when the drainer's sleep is over.
    private struct Alarm {
        let task: Task<Void, Never>
        let due: TimeInterval
        let purpose: SleepPurpose
        let hasFired: Locked<Bool>
    }

    private func alarm(at due: TimeInterval, in seconds: TimeInterval, for purpose: SleepPurpose) -> Alarm {
        let hasFired = Locked(false)
        let task = Task { [clock] in
            guard (try? await clock.sleep(seconds, for: purpose)) != nil else { return }
            hasFired.withLock { $0 = true }
            try? await self.open()
            self.core.tick()
        }
        return Alarm(task: task, due: due, purpose: purpose, hasFired: hasFired)
    }

    private func perform(_ actions: [StateMachine.Action]) {
        for action in actions {
            switch action {
            case .send(let id, let tag): begin(id) { await self.replay(id, tag: tag) }
            case .end(let id, let reason): begin(id) { await self.end(id, reason) }
            case .record(let id, let record, let tag): begin(id) { await self.record(record, id, tag: tag) }
            }
        }
    }

    private func begin(_ id: UUID, _ body: @escaping @Sendable () async -> Void) {
        work.withLock { work in
            work.nextReplay += 1
            let task = Task { [number = work.nextReplay] in
                await body()
                self.work.withLock { _ = $0.replays.removeValue(forKey: number) }
                self.core.tick()
            }
            work.replays[work.nextReplay] = (id, task)
        }
    }

    private func endReplays() async {
        let replays = work.withLock { $0.replays.values.map(\.task) }
        for replay in replays {
            replay.cancel()
            await replay.value
        }
    }

    /// Cancels the replays of entries that were removed: a later attempt might use the token of the next user. Does not
    /// wait for their end, since the caller may be part of such a replay.
    func cancelReplaysOfRemovedEntries() {
        let replays = work.withLock { Array($0.replays.values) }
        // Read afterwards, so that an entry queued in between is in neither list.
        let removed = core.read { machine in replays.filter { machine.entries[$0.id] == nil } }
        for replay in removed { replay.task.cancel() }
    }

    private func replay(_ id: UUID, tag: String?) async {
        // The entry was removed since its send action: the next entry of its tag may be sent.
        guard core.read({ $0.entries[id] != nil }) else { return settle(id, tag: tag) }
        let outcome: ReplayOutcome
        do {
            outcome = try await attempt(id)
        } catch {
            outcome = ReplayOutcome(result: .failure(PulseError(wrapping: error)))
        }
        let now = clock.now
        let result = outcome.result(now: now)
        let verdict = verdict(outcome, now: now)
        let reason = {
            guard case .failure(let error) = result else { return Data() }
            return StoredReason(error, now: now).encoded
        }
        let record = core.decide({
            $0.finish(id, tag: tag, verdict, reason: reason(), uptime: clock.uptime, randomness: randomness)
        })
        guard let record else { return settle(id, tag: tag) }
        // The outcome of an entry that stays queued is not stored: it may end later with another outcome, or elsewhere.
        if record.operation != QueueOperation.attempted.byte { core.storePendingOutcome(id, result) }
        await self.record(record, id, tag: tag)
    }

    private func verdict(_ outcome: ReplayOutcome, now: Date) -> ReplayVerdict {
        // A request that is missing or damaged stays so.
        if case .failure(.custom(let failure as JournalFailure)) = outcome.result(now: now),
            failure == .damagedRecord || failure == .missing
        {
            return .rejected
        }
        return outcome.verdict(now: now)
    }

    private func attempt(_ id: UUID) async throws -> ReplayOutcome {
        let record = try await log.read { [core] in core.decide { $0.takeRevisionToSend(of: id) } }
        guard let send = send.withLock({ $0 }) else { throw PulseError.cancelled }
        guard let record else { throw JournalFailure.damagedRecord }
        let stored = try StoredRequest(decoding: record.payload)
        var body: URL?
        if let name = stored.file {
            guard let files, files.exists(name) else { throw JournalFailure.missing }
            body = files.url(name)
        }
        return await send(try stored.replay(id, tag: record.tag, body: body))
    }

    // MARK: Connectivity

    private func watchConnectivity(_ updates: AsyncStream<ConnectivityStatus>) async {
        var last: ConnectivityStatus?
        for await status in updates {
            if let last, last != status { core.emit(.connectivityChanged(status)) }
            if last?.path == .unsatisfied, status.path == .satisfied { core.change { $0.resume() } }
            last = status
        }
    }
}
