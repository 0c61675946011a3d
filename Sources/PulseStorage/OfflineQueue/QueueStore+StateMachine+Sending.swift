// SPDX-License-Identifier: MIT

import PulseCore

// Sending entries, and handling the outcomes of replays.

extension QueueStore.StateMachine {
    /// Returns the actions that are due at that time. Each action is returned once, until its outcome is reported. From
    /// here on until ``sleep(uptime:now:atMost:)``, every change wakes the drainer.
    mutating func next(uptime: TimeInterval, now: Int64) -> [Action] {
        sleep = nil
        var actions = expired(now)
        for (id, pending) in unrecorded where pending.due <= uptime {
            unrecorded[id]?.due = .infinity
            actions.append(.record(id, pending.record, tag: pending.tag))
        }
        actions += surplus(uptime)
        guard uptime >= pausedUntil else { return actions }
        for tag in backingOff where tagQueues[tag].map({ $0.due <= uptime }) ?? true {
            backingOff.remove(tag)
            markReady(tag)
        }
        while inFlightCount < Self.parallelism, let tag = ready.popFirst() {
            tagQueues[tag]?.isListed = false
            guard !backingOff.contains(tag), let id = head(of: tag, now) else { continue }
            tagQueues[tag]?.inFlight = id
            tagQueues[tag]?.sentRevision = entries[id]?.revision ?? 0
            inFlightCount += 1
            actions.append(.send(id, tag: tag))
        }
        return actions
    }

    /// Whether an action may be due. If not, the drainer may skip the pass. Until its next sleep, every change wakes
    /// it.
    mutating func hasWork(uptime: TimeInterval, now: Int64) -> Bool {
        sleep = nil
        if now >= firstExpiry || unrecorded.values.contains(where: { $0.due <= uptime }) { return true }
        if deadCount > max(capacity, 1), uptime >= surplusDue { return true }
        guard uptime >= pausedUntil else { return false }
        return !ready.elements.isEmpty || backingOff.contains { tagQueues[$0].map { $0.due <= uptime } ?? true }
    }

    /// Returns the uptime until which the drainer sleeps. It must wake up by then: events that are not due earlier do
    /// not wake it. Nil if it may sleep until the next change.
    mutating func sleep(uptime: TimeInterval, now: Int64, atMost period: TimeInterval) -> TimeInterval? {
        guard !isIdle, let wait = wait(uptime: uptime, now: now) else { return nil }
        let end = uptime + min(wait, period)
        sleep = Sleep(end: end, firstExpiry: firstExpiry)
        return end
    }

    /// Whether the drainer may keep sleeping although entries were added: without a connection, they need no pass
    /// before the pause is over.
    var maySleepOn: Bool {
        sleep.map { pausedUntil >= $0.end && firstExpiry >= $0.firstExpiry } ?? false
    }

    /// The shortest wait in seconds: a shorter one may be below the clock's resolution, and would never end.
    private static let shortestWait: TimeInterval = 0.001

    /// Seconds until an action may be due without an outside event; nil if there will be none.
    func wait(uptime: TimeInterval, now: Int64) -> TimeInterval? {
        var due = TimeInterval.infinity
        for pending in unrecorded.values { due = min(due, pending.due - uptime) }
        if deadCount > max(capacity, 1), surplusDue > uptime { due = min(due, surplusDue - uptime) }
        guard pendingCount > 0 else { return due.isFinite ? max(Self.shortestWait, due) : nil }
        if pausedUntil > uptime {
            due = min(due, pausedUntil - uptime)
        } else {
            for tag in backingOff { due = min(due, (tagQueues[tag]?.due ?? .infinity) - uptime) }
        }
        if firstExpiry != .max { due = min(due, TimeInterval(firstExpiry - now) / 1000) }
        return due.isFinite ? max(Self.shortestWait, due) : nil
    }

    private mutating func expired(_ now: Int64) -> [Action] {
        guard now >= firstExpiry else { return [] }
        firstExpiry = .max
        var ids: [(order: UInt64, id: UUID)] = []
        for (id, entry) in entries where entry.deadLetter == nil && entry.expiry != 0 {
            if entry.expiry <= now, !entry.isEnding, !isInFlight(id, entry) {
                ids.append((entry.order, id))
            } else if entry.expiry > now {
                firstExpiry = min(firstExpiry, entry.expiry)
            } else {
                // An entry in flight is checked again after its replay.
                firstExpiry = min(firstExpiry, now + 1000)
            }
        }
        return ids.sorted { $0.order < $1.order }.map { _, id in
            entries[id]?.isEnding = true
            return .end(id, .expired)
        }
    }

    /// Ends the oldest dead letters, if there are too many.
    private mutating func surplus(_ uptime: TimeInterval) -> [Action] {
        let most = max(capacity, 1)
        guard deadCount > most, uptime >= surplusDue else { return [] }
        // Entries that are ending no longer count.
        let letters = entries.filter { $0.value.deadLetter != nil && !$0.value.isEnding }
            .sorted { $0.value.order < $1.value.order }
        return letters.dropLast(most).map { id, _ in
            entries[id]?.isEnding = true
            return .end(id, .surplus)
        }
    }

    /// The first entry of a tag that may be sent. Removed entries before it leave the tag's queue. An expired entry is
    /// not sent, even if the record that ends it could not be written yet.
    private mutating func head(of tag: String?, _ now: Int64) -> UUID? {
        guard var queue = tagQueues[tag], queue.inFlight == nil else { return nil }
        defer { tagQueues[tag] = queue.ids.elements.isEmpty ? nil : queue }
        while let (id, order) = queue.ids.elements.first {
            if let entry = entries[id], entry.order == order, entry.deadLetter == nil {
                return entry.isEnding || entry.expiry != 0 && entry.expiry <= now ? nil : id
            }
            _ = queue.ids.popFirst()
        }
        return nil
    }

    /// The location of the revision to send. It may be newer than at the send action; the outcome applies to this
    /// revision.
    mutating func takeRevisionToSend(of id: UUID) -> JournalLocation? {
        guard let entry = entries[id] else { return nil }
        tagQueues[entry.tag]?.sentRevision = entry.revision
        return entry.location
    }

    /// Whether a dead letter may be sent again. A surplus letter that is being removed counts as gone. Call it under
    /// the journal's lock.
    func mayRevive(_ id: UUID) -> Bool {
        entries[id].map { $0.deadLetter != nil && !$0.isEnding } ?? false
    }

    /// Whether the record that ends an entry may be written: not for a surplus dead letter that was revived meanwhile.
    /// Call it under the journal's lock.
    func mayEnd(_ id: UUID, _ reason: QueueRemoval) -> Bool {
        guard reason == .surplus, let entry = entries[id] else { return true }
        return entry.deadLetter != nil && !entry.isChanging
    }

    /// Adds a tag to the ready list, unless it is listed, in flight or backing off.
    mutating func markReady(_ tag: String?) {
        guard let queue = tagQueues[tag], !queue.isListed, queue.inFlight == nil, !backingOff.contains(tag) else {
            return
        }
        tagQueues[tag]?.isListed = true
        ready.append(tag)
    }
}

// MARK: - Handling outcomes

extension QueueStore.StateMachine {
    /// Handles the outcome of a replay, and returns the record to write before the next entry of its tag is sent.
    /// ``settle(_:tag:uptime:)`` follows, with or without a record.
    mutating func finish(
        _ id: UUID, tag: String?, _ verdict: ReplayVerdict, reason: @autoclosure () -> Data, uptime: TimeInterval,
        randomness: any Randomness
    ) -> JournalRecord? {
        if verdict != .offline, verdict != .stopped { offlineFailures = 0 }
        switch verdict {
        case .done(let status):
            tagQueues[tag]?.clearFailures()
            return entries[id].map { _ in Self.removal(id, .done(status: status)) }
        case .rejected:
            tagQueues[tag]?.clearFailures()
            return entries[id].map { _ in JournalRecord(QueueOperation.deadLettered.rawValue, id, payload: reason()) }
        case .unavailable(let isVerdict, let retryAfter):
            backOff(tag, retryAfter: retryAfter, isServerBackoff: isVerdict, uptime, randomness)
            return isVerdict ? countAttempt(id, tag, reason: reason()) : nil
        case .unsendable:
            backOff(tag, retryAfter: 0, isServerBackoff: false, uptime, randomness)
            return countAttempt(id, tag, reason: reason())
        case .offline:
            pause(uptime, randomness)
            return nil
        case .otherAccount:
            tagQueues[tag]?.failures += 1
            tagQueues[tag]?.due = uptime + 60
            return nil
        case .stopped:
            // The replay was cancelled because its entry was removed: the next entry of the tag may be sent.
            guard entries[id] != nil else { return nil }
            backOff(tag, retryAfter: 0, isServerBackoff: false, uptime, randomness)
            return nil
        }
    }

    /// The record of one more attempt. The last attempt makes the entry a dead letter.
    private mutating func countAttempt(_ id: UUID, _ tag: String?, reason: @autoclosure () -> Data) -> JournalRecord? {
        guard let entry = entries[id] else { return nil }
        guard entry.attempts + 1 < maxAttempts else {
            tagQueues[tag]?.clearFailuresOfDeadLetter()
            return JournalRecord(QueueOperation.deadLettered.rawValue, id, payload: reason())
        }
        return Self.attempt(id, entry.attempts + 1)
    }

    /// Whether a record would end an entry in an outdated revision: another process has changed the entry while it was
    /// in flight. The new revision is sent then. Call it under the journal's lock.
    func isOutdated(_ record: JournalRecord, tag: String?) -> Bool {
        guard record.operation != QueueOperation.attempted.byte, let entry = entries[record.id],
            let queue = tagQueues[tag], queue.inFlight == record.id
        else { return false }
        return entry.revision != queue.sentRevision
    }

    /// Allows the next entry of the tag to be sent: the outcome is in the journal, or needs no record.
    mutating func settle(_ id: UUID, tag: String?, uptime: TimeInterval) {
        unrecorded[id] = nil
        // An entry that expired in flight ends now.
        if let expiry = entries[id]?.expiry, expiry != 0 { firstExpiry = min(firstExpiry, expiry) }
        guard tagQueues[tag]?.inFlight == id else { return }
        tagQueues[tag]?.inFlight = nil
        inFlightCount -= 1
        if let queue = tagQueues[tag], queue.due > uptime {
            backingOff.insert(tag)
        } else {
            markReady(tag)
        }
    }

    /// Handles a record that could not be written. The entry stays in flight, so that it is not sent again and no entry
    /// of its tag overtakes it. The write is retried later.
    mutating func postpone(
        _ id: UUID, tag: String?, _ record: JournalRecord, uptime: TimeInterval, randomness: any Randomness
    ) {
        let failures = (unrecorded[id]?.failures ?? 0) + 1
        let delay = max(1, Self.backoff.delay(beforeRetry: failures, randomness: randomness))
        unrecorded[id] = Unrecorded(record: record, tag: tag, due: uptime + delay, failures: failures)
    }

    /// Handles a failed write of the record that ends an entry. A later drain pass retries it.
    mutating func postponeEnd(_ id: UUID, uptime: TimeInterval, now: Int64) {
        entries[id]?.isEnding = false
        if entries[id]?.deadLetter != nil { surplusDue = uptime + 30 }
        if let expiry = entries[id]?.expiry, expiry != 0 { firstExpiry = min(firstExpiry, max(expiry, now + 30_000)) }
        if let entry = entries[id] { markReady(entry.tag) }
    }

    /// Pauses all sending because there is no connection. ``resume()`` ends the pause early.
    mutating func pause(_ uptime: TimeInterval, _ randomness: any Randomness) {
        guard uptime >= pausedUntil else { return }
        offlineFailures += 1
        pausedUntil = uptime + max(0.5, Self.backoff.delay(beforeRetry: offlineFailures, randomness: randomness))
    }

    /// Pauses sending for one tag: the server of a call with this tag is unreachable, and the call is about to be
    /// queued.
    mutating func backOffUnlessInFlight(_ tag: String?, _ uptime: TimeInterval, _ randomness: any Randomness) {
        let queue = tagQueues[tag] ?? TagQueue()
        // An entry in flight reports its own failure, and a wait that has begun stays.
        guard queue.inFlight == nil, queue.due <= uptime else { return }
        tagQueues[tag] = queue
        backOff(tag, retryAfter: 0, isServerBackoff: false, uptime, randomness)
        backingOff.insert(tag)
    }

    /// Ends all waits after earlier failures. A wait that a server requested stays.
    mutating func resume() {
        pausedUntil = 0
        offlineFailures = 0
        for tag in backingOff { tagQueues[tag]?.clearWait() }
    }

    /// Whether a wait after a server's refusal is not over. Other processes would not respect it.
    func hasServerBackoff(_ uptime: TimeInterval) -> Bool {
        backingOff.contains { tag in tagQueues[tag].map { $0.isServerBackoff && $0.due > uptime } ?? false }
    }

    /// Whether a failure delays sending or writing.
    func isDelayedByFailure(_ uptime: TimeInterval) -> Bool {
        pausedUntil > uptime || !backingOff.isEmpty || !unrecorded.isEmpty
    }

    /// Whether the drainer may end. If so, its waits are cleared: without a drainer, they would outlast a reconnection.
    mutating func endIfIdle() -> Bool {
        guard isIdle else { return false }
        resume()
        return true
    }

    /// - Parameter isServerBackoff: whether the server requested the wait. A wait of the client, such as that of an
    ///   open circuit, may be ended early at any moment: it only guesses when another attempt is worthwhile.
    private mutating func backOff(
        _ tag: String?, retryAfter: TimeInterval, isServerBackoff: Bool, _ uptime: TimeInterval,
        _ randomness: any Randomness
    ) {
        guard var queue = tagQueues[tag] else { return }
        queue.failures += 1
        queue.isServerBackoff = isServerBackoff
        let delay = Self.backoff.delay(beforeRetry: queue.failures, randomness: randomness)
        let guess = isServerBackoff ? 0 : min(retryAfter, Self.longestBackoff)
        queue.notBefore = isServerBackoff && retryAfter > 0 ? uptime + min(retryAfter, 86400) : 0
        queue.due = max(uptime + max(0.5, delay, guess), queue.notBefore)
        tagQueues[tag] = queue
    }
}
