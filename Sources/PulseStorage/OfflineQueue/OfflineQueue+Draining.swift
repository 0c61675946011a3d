// SPDX-License-Identifier: MIT

import PulseCore

extension OfflineQueue {
    /// Seconds between two looks at a journal that another process drains, and at the tail of one's own.
    private static let lookPeriod: TimeInterval = 5
    private static let tailPeriod: TimeInterval = 30

    private enum Turn {
        case mine
        case another
        case failed(any Error)
    }

    /// Begins to send; a drainer that runs already looks at once.
    func startDraining() {
        beginDraining()
        core.tick()
    }

    /// Begins to send, unless a drainer runs already.
    func beginDraining() {
        work.withLock { work in
            guard !work.isClosed, work.drainer == nil else { return }
            // Detached: the trace, permit or refresh of the calling task does not belong to the entries.
            work.drainer = Task.detached { await self.drainInTurn() }
        }
    }

    /// Sends until nothing is left, whenever no other process does.
    private func drainInTurn() async {
        var failures = 0
        var isUnread = false
        repeat {
            // From here on no request to send is missed.
            let ticks = core.ticks()
            let look = core.beginLook()
            let turn = await takeTurn()
            isUnread = false
            switch turn {
            case .mine:
                failures = 0
                await compactIfNeeded()
                await drainUntilIdle(ticks)
                await yieldTurn()
            case .another:
                failures = 0
                core.becameQuiet(inLook: look)
                if !core.read(\.isIdle) { await rest(Self.lookPeriod, for: .idle, ticks) }
            case .failed(let error):
                failures += 1
                // A later version may have records that this one does not understand: the journal is left alone.
                if case JournalFailure.newerVersion = error {} else { isUnread = true }
                core.emit(.warning("the offline queue cannot read its journal: \(PulseError(wrapping: error))"))
                core.becameQuiet(inLook: look)
                let delay = StateMachine.backoff.delay(beforeRetry: failures, randomness: randomness)
                if isUnread || !core.read(\.isIdle) { await rest(max(1, delay), for: .backoff, ticks) }
            }
        } while !hasEnded(butUnread: isUnread)
    }

    /// Waits for that many seconds, or until there is something to send.
    private func rest(_ seconds: TimeInterval, for purpose: SleepPurpose, _ ticks: AsyncStream<Void>) async {
        let alarm = Task { [clock, core] in
            try? await clock.sleep(seconds, for: purpose)
            core.tick()
        }
        for await _ in ticks { break }
        alarm.cancel()
    }

    /// Whether the drainer may end: nothing is left to send as far as the journal could be read, or the queue was
    /// closed.
    private func hasEnded(butUnread isUnread: Bool) -> Bool {
        let look = work.withLock { work -> Int? in
            let mayGo = work.isClosed || Task.isCancelled || !isUnread && core.decide { $0.endIfIdle() }
            guard mayGo else { return nil }
            work.drainer = nil
            return core.beginLook()
        }
        // A caller that came after the last look found a drainer, and waits for its next look. One that comes from now
        // on starts a new drainer.
        if let look { core.becameQuiet(inLook: look) }
        return look != nil
    }

    private func takeTurn() async -> Turn {
        let isMine = Locked(true)
        do {
            try await log.refresh { [self] in
                guard let turn else { return }
                let hasTurn = try turn.tryAcquire()
                isMine.withLock { $0 = hasTurn }
                // A leftover that stays hinders nobody.
                if hasTurn { try? sweepFiles() }
            }
            return isMine.withLock { $0 } ? .mine : .another
        } catch PulseError.custom(let failure as JournalFailure) {
            return .failed(failure)
        } catch {
            return .failed(error)
        }
    }

    /// Whether this process still holds the lock: it may have been deleted with the directory, and another process may
    /// hold a new one.
    ///
    /// - Parameter wasLent: whether others may have sent since the last look; their records are read then.
    private func hasTurnStill(_ wasLent: Bool) async -> Bool {
        do {
            guard let turn else { return true }
            guard try turn.tryAcquire() else { return false }
            guard wasLent else { return true }
            do {
                try await open()
            } catch PulseError.custom(JournalFailure.missing) {
                // As below.
            } catch {
                // What they have sent is not known: the next drainer that gets the lock reads it.
                turn.release()
                return false
            }
            // The file may have gone meanwhile.
            return try turn.tryAcquire()
        } catch JournalFailure.missing {
            // Nobody else has it either: the next writer makes the journal and the lock again.
            return true
        } catch {
            return false
        }
    }

    /// Lets others send while this process only waits: a system may suspend a process, and ends one that holds a lock
    /// then. False if nobody else may.
    private func lendTurn() -> Bool {
        guard let turn, core.read({ $0.unrecorded.isEmpty && !$0.keepsServerWait(clock.uptime) }) else { return false }
        turn.release()
        return true
    }

    /// Removes bodies without an entry. To be called while nobody changes the journal. Throws ``JournalFailure``.
    func sweepFiles() throws {
        try files?.sweep { [core] id in core.read { $0.entries[id] != nil } }
    }

    /// Lets another process send, and reads what came between the last look and that.
    private func yieldTurn() async {
        if core.read({ $0.entries.isEmpty }) { await tidy() }
        turn?.release()
        try? await open()
    }

    // MARK: Sending

    private func drainUntilIdle(_ ticks: AsyncStream<Void>) async {
        // Subscribed here, so that the task misses no change, however late it begins.
        let updates = connectivity.updates
        let watch = Task { await self.watchConnectivity(updates) }
        var alarm: Alarm?
        var isAtRest = true
        var isLent = false
        core.tick()
        for await _ in ticks {
            let look = core.beginLook()
            // Asked before the look: a replay that ends after it may leave something to send.
            let isNobodyUnderWay = work.withLock { $0.replays.isEmpty }
            var actions: [StateMachine.Action] = []
            // Without work there is no need to take the turn from others.
            if !isLent || core.hasWork(uptime: clock.uptime, now: clock.now.milliseconds) {
                guard await hasTurnStill(isLent) else { break }
                isLent = false
                actions = core.look(uptime: clock.uptime, now: clock.now.milliseconds)
            }
            if isAtRest, actions.contains(where: \.isSend) {
                isAtRest = false
                core.emit(.offlineQueueDraining(count: core.read(\.pendingCount)))
            }
            perform(actions)
            if isNobodyUnderWay, actions.isEmpty {
                isAtRest = true
                isLent = lendTurn()
                core.becameQuiet(inLook: look)
            }
            if core.decide({ $0.endIfIdle() }) { break }
            let uptime = clock.uptime
            let due = core.rest(uptime: uptime, now: clock.now.milliseconds, atMost: Self.tailPeriod)
            // An alarm that is due earlier will do: it is set again when it strikes.
            let purpose: SleepPurpose = core.read { $0.isHeldUp(uptime) } ? .backoff : .idle
            if let due, let alarm, alarm.due <= due, alarm.purpose == purpose, !alarm.hasStruck.withLock({ $0 }) {
                continue
            }
            alarm?.task.cancel()
            alarm = due.map { self.alarm(at: $0, in: $0 - uptime, for: purpose) }
        }
        core.endRest()
        alarm?.task.cancel()
        watch.cancel()
        await endReplays()
    }

    /// An alarm that makes the drainer look when its rest is over.
    private struct Alarm {
        let task: Task<Void, Never>
        let due: TimeInterval
        let purpose: SleepPurpose
        let hasStruck: Locked<Bool>
    }

    private func alarm(at due: TimeInterval, in seconds: TimeInterval, for purpose: SleepPurpose) -> Alarm {
        let hasStruck = Locked(false)
        let task = Task { [clock] in
            guard (try? await clock.sleep(seconds, for: purpose)) != nil else { return }
            hasStruck.withLock { $0 = true }
            try? await self.open()
            self.core.tick()
        }
        return Alarm(task: task, due: due, purpose: purpose, hasStruck: hasStruck)
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

    /// Cancels what is on its way of entries that are no longer in the journal: a later attempt might go with the token
    /// of whoever logs in next. Does not wait, since the caller may be part of such a replay.
    func stopReplaysOfTheGone() {
        let replays = work.withLock { Array($0.replays.values) }
        // Asked afterwards: one that was queued since is among neither.
        let gone = core.read { machine in replays.filter { machine.entries[$0.id] == nil } }
        for replay in gone { replay.task.cancel() }
    }

    private func replay(_ id: UUID, tag: String?) async {
        // It was removed since it was handed out: its line goes on.
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
        // The outcome of an entry that goes on is not kept: it may end later for another reason, or by another process.
        if record.operation != QueueOperation.attempted.byte { core.note(id, result) }
        await self.record(record, id, tag: tag)
    }

    private func verdict(_ outcome: ReplayOutcome, now: Date) -> ReplayVerdict {
        // A request that is missing or damaged now will be so later.
        if case .failure(.custom(let failure as JournalFailure)) = outcome.result(now: now),
            failure == .damagedRecord || failure == .missing
        {
            return .rejected
        }
        return outcome.verdict(now: now)
    }

    private func attempt(_ id: UUID) async throws -> ReplayOutcome {
        let record = try await log.read { [core] in core.decide { $0.takeForm(of: id) } }
        guard let send = send.withLock({ $0 }) else { throw PulseError.cancelled }
        guard let record else { throw JournalFailure.damagedRecord }
        let stored = try StoredRequest(decoding: record.payload)
        guard let url = URL(string: stored.url) else { throw JournalFailure.damagedRecord }
        var request = URLRequest(url: url)
        request.httpMethod = stored.method
        request.allHTTPHeaderFields = stored.headers
        request.httpBody = stored.body
        var body = BodySource.inRequest
        if let name = stored.file {
            guard let files, files.exists(name) else { throw JournalFailure.missing }
            body = .file(files.url(name))
        }
        let options = stored.options.with(\.tag, value: record.tag)
        return await send(
            Replay(
                id: id, request: request, droppedDefaults: stored.dropped ?? [], body: body, options: options,
                key: stored.key, account: stored.account))
    }

    // MARK: Writing down

    private func record(_ record: LogRecord, _ id: UUID, tag: String?) async {
        do {
            try await log.append([record]) { [core] in
                if core.read({ $0.isOutdated(record, tag: tag) }) { throw OutdatedVerdict() }
                return []
            }
            settle(id, tag: tag)
            await compactIfNeeded()
        } catch PulseError.custom(is OutdatedVerdict) {
            core.forgetVerdict(id)
            settle(id, tag: tag)
        } catch {
            core.decide({
                $0.postpone(id, tag: tag, record, uptime: clock.uptime, randomness: randomness)
            })
            core.emit(.warning("the offline queue cannot write its journal: \(PulseError(wrapping: error))"))
        }
    }

    func end(_ id: UUID, _ reason: QueueRemoval) async {
        do {
            try await log.append([StateMachine.removal(id, reason)]) { [core] in
                guard core.read({ $0.mayEnd(id, reason) }) else { throw OutdatedVerdict() }
                return []
            }
            await compactIfNeeded()
        } catch {
            core.decide({ $0.keep(id, uptime: clock.uptime, now: clock.now.milliseconds) })
        }
    }

    private func settle(_ id: UUID, tag: String?) {
        core.change { $0.settle(id, tag: tag, uptime: clock.uptime) }
    }

    /// Compacts the journal when less than half of it counts.
    func compactIfNeeded() async {
        let live = core.read { $0.liveBytes }
        if log.size > 256 << 10, live < log.size - live { await tidy() }
    }

    /// Compacts the journal; if that fails, it goes on as it is.
    private func tidy() async {
        do {
            try await compact()
        } catch {
            core.emit(.warning("the offline queue cannot compact its journal: \(PulseError(wrapping: error))"))
        }
    }

    /// Removes from the journal what no longer counts.
    ///
    /// - Parameter always: even if that is less than half.
    func compact(always: Bool = false) async throws {
        try await log.compact { [core, log, ended] in
            let contents = core.read { machine in
                always || machine.liveBytes < log.size - machine.liveBytes ? machine.contents() : nil
            }
            // First, so that others can read it when its records are gone.
            if contents != nil { ended?.add(core.ended) }
            return contents
        }
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

/// The failure of a record about an earlier form of its entry.
private struct OutdatedVerdict: Error {}
