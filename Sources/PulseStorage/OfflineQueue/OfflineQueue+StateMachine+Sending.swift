// SPDX-License-Identifier: MIT

import PulseCore

// What goes out, and what comes back.

extension OfflineQueue.StateMachine {
    /// The actions due at that time. Each is given once, until it is answered.
    mutating func next(uptime: TimeInterval, now: Int64) -> [Action] {
        var actions = expired(now)
        for (id, rest) in unrecorded where rest.due <= uptime {
            unrecorded[id]?.due = .infinity
            actions.append(.record(id, rest.record, tag: rest.tag))
        }
        actions += surplus(uptime)
        guard uptime >= pausedUntil else { return actions }
        for tag in backingOff where lines[tag].map({ $0.due <= uptime }) ?? true {
            backingOff.remove(tag)
            list(tag)
        }
        while inFlightCount < Self.parallelism, let tag = ready.popFirst() {
            lines[tag]?.isListed = false
            guard !backingOff.contains(tag), let id = head(of: tag, now) else { continue }
            lines[tag]?.inFlight = id
            lines[tag]?.sentRevision = entries[id]?.revision ?? 0
            inFlightCount += 1
            actions.append(.send(id, tag: tag))
        }
        return actions
    }

    /// Whether there may be anything to do now.
    func hasWork(uptime: TimeInterval, now: Int64) -> Bool {
        if now >= firstExpiry || unrecorded.values.contains(where: { $0.due <= uptime }) { return true }
        if deadCount > max(capacity, 1), uptime >= surplusDue { return true }
        guard uptime >= pausedUntil else { return false }
        return !ready.isEmpty || backingOff.contains { lines[$0].map { $0.due <= uptime } ?? true }
    }

    /// The shortest wait in seconds: the rest of a wait may be less than a clock can tell apart, and would never end.
    private static let shortestWait: TimeInterval = 0.001

    /// Seconds until there may be something to do without an event from outside; nil if there never is.
    func wait(uptime: TimeInterval, now: Int64) -> TimeInterval? {
        var due = TimeInterval.infinity
        for rest in unrecorded.values { due = min(due, rest.due - uptime) }
        if deadCount > max(capacity, 1), surplusDue > uptime { due = min(due, surplusDue - uptime) }
        guard pendingCount > 0 else { return due.isFinite ? max(Self.shortestWait, due) : nil }
        if pausedUntil > uptime {
            due = min(due, pausedUntil - uptime)
        } else {
            for tag in backingOff { due = min(due, (lines[tag]?.due ?? .infinity) - uptime) }
        }
        if firstExpiry != .max { due = min(due, TimeInterval(firstExpiry - now) / 1000) }
        return due.isFinite ? max(Self.shortestWait, due) : nil
    }

    private mutating func expired(_ now: Int64) -> [Action] {
        guard now >= firstExpiry else { return [] }
        firstExpiry = .max
        var ids: [(order: UInt64, id: UUID)] = []
        for (id, entry) in entries where entry.death == nil && entry.expiry != 0 {
            if entry.expiry <= now, !entry.isEnding, !isInFlight(id, entry) {
                ids.append((entry.order, id))
            } else if entry.expiry > now {
                firstExpiry = min(firstExpiry, entry.expiry)
            } else {
                // An entry on its way is looked at again when it has come back.
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
        // Those that are ending are as good as gone.
        let letters = entries.filter { $0.value.death != nil && !$0.value.isEnding }
            .sorted { $0.value.order < $1.value.order }
        return letters.dropLast(most).map { id, _ in
            entries[id]?.isEnding = true
            return .end(id, .surplus)
        }
    }

    /// The first entry of a tag that may be sent; those before it that are gone leave the line. An expired entry is not
    /// sent, even if the record that ends it could not be written yet.
    private mutating func head(of tag: String?, _ now: Int64) -> UUID? {
        guard var line = lines[tag], line.inFlight == nil else { return nil }
        defer { lines[tag] = line.isEmpty ? nil : line }
        while let (id, order) = line.first {
            if let entry = entries[id], entry.order == order, entry.death == nil {
                return entry.isEnding || entry.expiry != 0 && entry.expiry <= now ? nil : id
            }
            line.removeFirst()
        }
        return nil
    }

    /// The place of the form in which an entry is sent, perhaps a newer one than it had when it was handed out: the
    /// verdict will be on this one.
    mutating func takeForm(of id: UUID) -> LogLocation? {
        guard let entry = entries[id] else { return nil }
        lines[entry.tag]?.sentRevision = entry.revision
        return entry.location
    }

    /// Whether a dead letter may be sent again; one that is about to make room for newer ones is as good as gone. To be
    /// asked while nobody else changes the journal.
    func mayRevive(_ id: UUID) -> Bool {
        entries[id].map { $0.death != nil && !$0.isEnding } ?? false
    }

    /// Whether the record that ends an entry may be written: not if it is a dead letter too many that somebody has sent
    /// again meanwhile. To be asked while nobody else changes the journal.
    func mayEnd(_ id: UUID, _ reason: QueueRemoval) -> Bool {
        guard reason == .surplus, let entry = entries[id] else { return true }
        return entry.death != nil && !entry.isChanging
    }

    mutating func list(_ tag: String?) {
        guard let line = lines[tag], !line.isListed, line.inFlight == nil, !backingOff.contains(tag) else { return }
        lines[tag]?.isListed = true
        ready.append(tag)
    }
}

// MARK: - What comes back

extension OfflineQueue.StateMachine {
    /// Judges a replay, and returns the record to write before anything else of its tag is sent.
    /// ``settle(_:tag:uptime:)`` follows, with or without a record.
    mutating func finish(
        _ id: UUID, tag: String?, _ verdict: ReplayVerdict, reason: @autoclosure () -> Data, uptime: TimeInterval,
        randomness: any Randomness
    ) -> LogRecord? {
        if verdict != .offline, verdict != .stopped { offlineFailures = 0 }
        switch verdict {
        case .done(let status):
            lines[tag]?.calm()
            return entries[id].map { _ in Self.removal(id, .done(status: status)) }
        case .rejected:
            lines[tag]?.calm()
            return entries[id].map { _ in LogRecord(QueueOperation.deadLettered.rawValue, id, payload: reason()) }
        case .unavailable(let isVerdict, let retryAfter):
            hold(tag, retryAfter: retryAfter, isOfServer: isVerdict, uptime, randomness)
            return isVerdict ? countAttempt(id, tag, reason: reason()) : nil
        case .unsendable:
            hold(tag, retryAfter: 0, isOfServer: false, uptime, randomness)
            return countAttempt(id, tag, reason: reason())
        case .offline:
            pause(uptime, randomness)
            return nil
        case .otherAccount:
            lines[tag]?.failures += 1
            lines[tag]?.due = uptime + 60
            return nil
        case .stopped:
            // It was cancelled because it is no longer there: its line goes on.
            guard entries[id] != nil else { return nil }
            hold(tag, retryAfter: 0, isOfServer: false, uptime, randomness)
            return nil
        }
    }

    /// The record of one more attempt, which for the last one gives the entry up.
    private mutating func countAttempt(_ id: UUID, _ tag: String?, reason: @autoclosure () -> Data) -> LogRecord? {
        guard let entry = entries[id] else { return nil }
        guard entry.attempts + 1 < maxAttempts else {
            lines[tag]?.giveUp()
            return LogRecord(QueueOperation.deadLettered.rawValue, id, payload: reason())
        }
        return Self.attempt(id, entry.attempts + 1)
    }

    /// Whether a record would end an entry in a form that it no longer has, because another process has changed it
    /// while it was on its way. Then the new form is sent. To be asked while nobody else changes the journal.
    func isOutdated(_ record: LogRecord, tag: String?) -> Bool {
        guard record.operation != QueueOperation.attempted.byte, let entry = entries[record.id],
            let line = lines[tag], line.inFlight == record.id
        else { return false }
        return entry.revision != line.sentRevision
    }

    /// Lets the next entry of the tag go: the outcome is in the journal, or there was nothing to write.
    mutating func settle(_ id: UUID, tag: String?, uptime: TimeInterval) {
        unrecorded[id] = nil
        // One that expired on its way ends now.
        if let expiry = entries[id]?.expiry, expiry != 0 { firstExpiry = min(firstExpiry, expiry) }
        guard lines[tag]?.inFlight == id else { return }
        lines[tag]?.inFlight = nil
        inFlightCount -= 1
        if let line = lines[tag], line.due > uptime {
            backingOff.insert(tag)
        } else {
            list(tag)
        }
    }

    /// Notes that a record could not be written. The entry stays on its way, so that nothing of its tag overtakes it
    /// and it is not sent again; the record is tried again later.
    mutating func postpone(
        _ id: UUID, tag: String?, _ record: LogRecord, uptime: TimeInterval, randomness: any Randomness
    ) {
        let failures = (unrecorded[id]?.failures ?? 0) + 1
        let delay = max(1, Self.backoff.delay(beforeRetry: failures, randomness: randomness))
        unrecorded[id] = Unrecorded(record: record, tag: tag, due: uptime + delay, failures: failures)
    }

    /// Notes that the record that ends an entry could not be written; it is tried again at the next look.
    mutating func keep(_ id: UUID, uptime: TimeInterval, now: Int64) {
        entries[id]?.isEnding = false
        if entries[id]?.death != nil { surplusDue = uptime + 30 }
        if let expiry = entries[id]?.expiry, expiry != 0 { firstExpiry = min(firstExpiry, max(expiry, now + 30_000)) }
        if let entry = entries[id] { list(entry.tag) }
    }

    /// Sends nothing for a while, since there is no connection, unless somebody reports that it has returned.
    mutating func pause(_ uptime: TimeInterval, _ randomness: any Randomness) {
        guard uptime >= pausedUntil else { return }
        offlineFailures += 1
        pausedUntil = uptime + max(0.5, Self.backoff.delay(beforeRetry: offlineFailures, randomness: randomness))
    }

    /// Sends nothing of that tag for a while: a call of it has just found its server out of reach, and is to be queued.
    mutating func holdBack(_ tag: String?, _ uptime: TimeInterval, _ randomness: any Randomness) {
        let line = lines[tag] ?? Line()
        // What is on its way finds out by itself, and a wait that has begun goes on.
        guard line.inFlight == nil, line.due <= uptime else { return }
        lines[tag] = line
        hold(tag, retryAfter: 0, isOfServer: false, uptime, randomness)
        backingOff.insert(tag)
    }

    /// Ends all waits after earlier failures; a wait that a server asked for stays.
    mutating func resume() {
        pausedUntil = 0
        offlineFailures = 0
        for tag in backingOff { lines[tag]?.clearWait() }
    }

    /// Whether a wait after a server's refusal is not over. Other senders would not know of it.
    func keepsServerWait(_ uptime: TimeInterval) -> Bool {
        backingOff.contains { tag in lines[tag].map { $0.isServers && $0.due > uptime } ?? false }
    }

    /// Whether a failure holds something up.
    func isHeldUp(_ uptime: TimeInterval) -> Bool {
        pausedUntil > uptime || !backingOff.isEmpty || !unrecorded.isEmpty
    }

    /// Whether the drainer may end. If so, its waits are forgotten: nobody would see the connection return.
    mutating func endIfIdle() -> Bool {
        guard isIdle else { return false }
        resume()
        return true
    }

    /// - Parameter isOfServer: whether a server asked for the wait. A wait of this side, such as that of an open
    ///   circuit, may be ended by hand at any moment: it only guesses when another try is worthwhile.
    private mutating func hold(
        _ tag: String?, retryAfter: TimeInterval, isOfServer: Bool, _ uptime: TimeInterval,
        _ randomness: any Randomness
    ) {
        guard var line = lines[tag] else { return }
        line.failures += 1
        line.isServers = isOfServer
        let delay = Self.backoff.delay(beforeRetry: line.failures, randomness: randomness)
        let guess = isOfServer ? 0 : min(retryAfter, Self.longestBackoff)
        line.notBefore = isOfServer && retryAfter > 0 ? uptime + min(retryAfter, 86400) : 0
        line.due = max(uptime + max(0.5, delay, guess), line.notBefore)
        lines[tag] = line
    }
}
