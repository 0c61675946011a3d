// SPDX-License-Identifier: MIT

import PulseCore

extension OfflineQueue {
    /// The entries that wait to be sent or are on their way, in the order in which they were queued.
    public func pending() async throws -> [QueuedRequest] {
        try await requests { $0.death == nil }
    }

    /// The number of entries that wait to be sent or are on their way. Their requests are not read: fit for a badge.
    public func count() async throws -> Int {
        try await open()
        return core.read { $0.pendingCount }
    }

    /// The entries that were given up: answered with a status that is neither a success nor one to wait for, as most
    /// 4xx are, or with more than the client takes in; or tried `maxAttempts` times. They do not expire; only the
    /// newest `maxQueueSize` are kept. One that expired or made room while it waited is not among them.
    public func deadLetters() async throws -> [DeadLetter] {
        let requests = try await requests { $0.death != nil }
        var letters: [DeadLetter] = []
        for request in requests {
            let record = try await log.read { [core] in core.read { $0.entries[request.id]?.death } }
            guard let record else { continue }
            // A letter is shown even if its reason cannot be read.
            let reason =
                (try? JSONDecoder().decode(StoredReason.self, from: record.payload))
                ?? StoredReason(.custom(JournalFailure.damagedRecord), now: request.enqueuedAt)
            letters.append(
                DeadLetter(request: request, reason: reason.summary, diedAt: Date(milliseconds: reason.diedAt)))
        }
        return letters
    }

    /// Sends a dead letter again: last of its tag, with the same key, a new expiry, and no attempts counted.
    ///
    /// Throws ``PulseError/invalidRequest(reason:)`` if there is none of that id.
    public func retryDeadLetter(id: UUID) async throws {
        let record = LogRecord(QueueOperation.revived.rawValue, id, expiry: expiry)
        try await append(record) { machine in
            guard machine.mayRevive(id) else { throw Self.unknown(id) }
        }
        startDraining()
    }

    /// The size in bytes up to which a journal is compacted at once.
    private static let cheapToCompact = 128 << 10

    /// Removes an entry or a dead letter. One that is on its way is cancelled, and may arrive nevertheless.
    ///
    /// Throws ``PulseError/invalidRequest(reason:)`` if there is none of that id. If it is removed, and its content
    /// cannot be taken out of the journal's file, it throws the ``JournalFailure``.
    public func remove(id: UUID) async throws {
        try await log.append([StateMachine.removal(id, .removed)]) { [core] in
            try core.read { machine in
                guard machine.entries[id] != nil else { throw Self.unknown(id) }
            }
            return []
        }
        stopReplaysOfTheGone()
        // Its content does not stay on the disk until a later compaction, unless there is much else to copy.
        if log.size < Self.cheapToCompact { try await compact(always: true) } else { await compactIfNeeded() }
    }

    /// Removes all entries and dead letters: for a logout, if the client's auth plugin knows no accounts. Nothing of
    /// them is left in the files. What this process is sending is cancelled, and not tried again with whatever token;
    /// what another process is sending may be, until that has read the journal.
    ///
    /// If the files cannot be cleaned, it throws after they were removed from the queue: call it again later.
    public func removeAll() async throws {
        try await log.append([]) { [core] in
            core.read { machine in machine.entries.keys.map { StateMachine.removal($0, .removed) } }
        }
        stopReplaysOfTheGone()
        try await forgetForGood()
    }

    /// Removes the entries and dead letters that were queued while that account was logged in, and those whose account
    /// cannot be told. Nothing of them is left in the files.
    ///
    /// If the files cannot be cleaned, it throws after they were removed from the queue: call it again later.
    public func removeAll(account: String) async throws {
        let (requests, unreadable) = try await read { _ in true }
        let ids = requests.filter { $0.account == account }.map(\.id) + unreadable
        try await log.append([]) { [core] in
            core.read { machine in
                ids.filter { machine.entries[$0] != nil }.map { StateMachine.removal($0, .removed) }
            }
        }
        stopReplaysOfTheGone()
        try await forgetForGood()
    }

    /// Takes what was removed out of the files. A part that fails keeps no other from that; the first failure is
    /// thrown.
    private func forgetForGood() async throws {
        var failures: [any Error] = []
        do { try await compact(always: true) } catch { failures.append(error) }
        do { try await log.discardDamaged() } catch { failures.append(error) }
        // A crash may have left bodies that no record names.
        do { try await log.refresh { [self] in try sweepFiles() } } catch { failures.append(error) }
        if let failure = failures.first { throw failure }
    }

    /// Changes the URL, headers or body of an entry that is not on its way; it keeps its id, its key and its place. If
    /// somebody else changes it at the same time, `change` is called again with their result.
    ///
    /// Throws ``PulseError/invalidRequest(reason:)`` for an entry that is on its way or not there, and for a header
    /// that cannot be sent; ``PulseError/unsupported(_:)`` for a secret header that the policy does not list.
    public func update(
        id: UUID, _ change: @Sendable (inout QueuedRequest) throws -> Void
    ) async throws {
        try await open()
        while true {
            do { return try await updateOnce(id, change) } catch PulseError.custom(is ChangedMeanwhile) {}
        }
    }

    private func updateOnce(_ id: UUID, _ change: @Sendable (inout QueuedRequest) throws -> Void) async throws {
        guard let (before, stored) = try await entry(id),
            let queued = QueuedRequest(
                id, stored, tag: before.tag, expiry: before.expiry, attempts: before.attempts)
        else { throw Self.unknown(id) }
        var request = queued
        do { try change(&request) } catch { throw PulseError(wrapping: error) }
        try check(request.headers)
        var updated = stored
        (updated.url, updated.headers) = (request.url.absoluteString, request.headers)
        var newFile: String?
        if let body = request.body {
            if let files, body.count > SideFiles.limit {
                let name = "\(id.uuidString)-\(randomness.uuid().uuidString)"
                try await files.write(name, body)
                newFile = name
                (updated.body, updated.file) = (nil, name)
            } else {
                (updated.body, updated.file) = (body, nil)
            }
        } else if stored.file == nil {
            updated.body = nil
        }
        let record = LogRecord(
            QueueOperation.updated.rawValue, id, tag: before.tag, expiry: before.expiry, payload: try updated.encoded())
        do {
            try await append(record) { machine in
                guard let entry = machine.entries[id], entry.death == nil else { throw Self.unknown(id) }
                guard !machine.isInFlight(id, entry) else {
                    throw PulseError.invalidRequest(reason: "the entry is on its way")
                }
                // Changes that are written together have all seen the form before the first of them.
                guard entry.revision == before.revision, !entry.isChanging else { throw ChangedMeanwhile() }
            }
        } catch {
            if let newFile { files?.discard(newFile) }
            throw error
        }
        if let newFile { files?.letGo(newFile) }
        if let old = stored.file, old != updated.file { files?.remove(old) }
        await compactIfNeeded()
    }

    /// Appends a record that changes its entry, which is marked from its admission until the record is applied.
    private func append(
        _ record: LogRecord, _ admission: @escaping @Sendable (StateMachine) throws -> Void
    ) async throws {
        let isAdmitted = Locked(false)
        do {
            try await log.append([record]) { [core] in
                try core.decide { machine in
                    try admission(machine)
                    machine.entries[record.id]?.isChanging = true
                }
                isAdmitted.withLock { $0 = true }
                return []
            }
        } catch {
            if isAdmitted.withLock({ $0 }) { core.decide { $0.entries[record.id]?.isChanging = false } }
            throw error
        }
    }

    /// Waits for the answer to an entry, also after a relaunch if the entry is still in the queue then.
    ///
    /// Throws what the entry failed with: ``PulseError/deadlineExceeded(last:)`` if it expired,
    /// ``PulseError/cancelled`` if it was removed, ``PulseError/offlineQueueFull`` if it was dropped to make room, the
    /// server's refusal if it is a dead letter. Throws ``PulseError/invalidRequest(reason:)`` for an id that the queue
    /// does not know, or no longer. If another process has received the answer, the result has its status and no body.
    public func result(of id: UUID) async throws -> PulseResponse {
        try await open()
        startDraining()
        if let response = try await core.outcome(of: id) { return response }
        guard let letter = try await deadLetters().first(where: { $0.id == id }) else { throw Self.unknown(id) }
        throw PulseError.custom(letter.reason)
    }

    /// Sends now the entries that wait for their time, and returns when each was tried: gone, given up, or waiting
    /// again. Returns how many are left. A wait that the server asked for is kept.
    @discardableResult
    public func drain() async throws -> Int {
        try await open()
        if !core.read({ $0.isIdle }) {
            await core.quiet(after: { $0.resume() }) { startDraining() }
        }
        return core.read { $0.pendingCount }
    }

    // MARK: -

    private static func unknown(_ id: UUID) -> PulseError {
        .invalidRequest(reason: "the offline queue has no such entry: \(id)")
    }

    private func check(_ headers: [String: String]) throws {
        for (name, value) in headers {
            try HTTPHeaders.validate(name: name, value: value)
            guard !redaction.isSecret(name) || policy.stores(secretHeader: name) else {
                throw PulseError.unsupported("the header \(name) is a secret, which the offline queue does not store")
            }
        }
    }

    /// The requests that can be read. One of another version fails when its entry is sent.
    private func requests(_ isWanted: @Sendable (StateMachine.Entry) -> Bool) async throws -> [QueuedRequest] {
        try await read(isWanted).requests
    }

    /// The requests are read one by one: in memory the queue keeps only their places.
    private func read(
        _ isWanted: @Sendable (StateMachine.Entry) -> Bool
    ) async throws -> (requests: [QueuedRequest], unreadable: [UUID]) {
        try await open()
        let wanted = core.read { machine in
            machine.entries.filter { isWanted($0.value) }.sorted { $0.value.order < $1.value.order }.map(\.key)
        }
        var requests: [QueuedRequest] = []
        var unreadable: [UUID] = []
        for id in wanted {
            if let (entry, stored) = try await entry(id),
                let request = QueuedRequest(
                    id, stored, tag: entry.tag, expiry: entry.expiry, attempts: entry.attempts)
            {
                requests.append(request)
            } else {
                unreadable.append(id)
            }
        }
        return (requests, unreadable)
    }

    /// An entry and its request; nil if it is not there, or cannot be read.
    private func entry(_ id: UUID) async throws -> (StateMachine.Entry, StoredRequest)? {
        let found = Locked<StateMachine.Entry?>(nil)
        let record = try await log.read { [core] in
            let entry = core.read { $0.entries[id] }
            found.withLock { $0 = entry }
            return entry?.location
        }
        guard let record, let entry = found.withLock({ $0 }), let stored = try? StoredRequest(decoding: record.payload)
        else { return nil }
        return (entry, stored)
    }
}

extension OfflineQueuePolicy {
    package func stores(secretHeader name: String) -> Bool {
        storableSecretHeaders.contains { $0.equalsIgnoringASCIICase(name) }
    }
}

/// The failure of a change to an entry that somebody else has changed since it was read.
private struct ChangedMeanwhile: Error {}
