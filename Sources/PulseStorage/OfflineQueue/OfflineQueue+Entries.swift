// SPDX-License-Identifier: MIT

import PulseCore

extension OfflineQueue {
    /// The entries that wait to be sent or are being sent, in the order in which they were queued.
    public func pending() async throws -> [QueuedRequest] {
        try await requests { $0.deadLetter == nil }
    }

    /// The number of entries that wait to be sent or are being sent. Does not read their requests: fit for a badge.
    public func count() async throws -> Int {
        try await open()
        return core.read { $0.pendingCount }
    }

    /// The entries that were given up: the server responded with a status that is neither a success nor a temporary
    /// failure, as most 4xx are; the response was larger than the client accepts; or `maxAttempts` attempts failed.
    /// Dead letters do not expire; only the newest `maxQueueSize` are kept. An entry that expired or was dropped to
    /// make room is not among them.
    public func deadLetters() async throws -> [DeadLetter] {
        let requests = try await requests { $0.deadLetter != nil }
        var letters: [DeadLetter] = []
        for request in requests {
            let record = try await log.read { [core] in core.read { $0.entries[request.id]?.deadLetter } }
            guard let record else { continue }
            // Show the letter even if its reason cannot be read.
            let reason =
                (try? JSONDecoder().decode(StoredReason.self, from: record.payload))
                ?? StoredReason(.custom(JournalFailure.damagedRecord), now: request.enqueuedAt)
            letters.append(
                DeadLetter(request: request, reason: reason.summary, deadLetteredAt: Date(milliseconds: reason.diedAt)))
        }
        return letters
    }

    /// Sends a dead letter again: last of its tag, with the same key, a new expiry, and no attempts counted.
    ///
    /// Throws ``PulseError/invalidRequest(reason:)`` if there is no dead letter with that id.
    public func retryDeadLetter(id: UUID) async throws {
        let record = LogRecord(QueueOperation.revived.rawValue, id, expiry: expiry)
        try await append(record) { machine in
            guard machine.mayRevive(id) else { throw Self.unknown(id) }
        }
        startDraining()
    }

    /// The size in bytes up to which every removal compacts the journal.
    private static let cheapToCompact = 128 << 10

    /// Removes an entry or a dead letter. An entry that is being sent is cancelled, and may arrive nevertheless.
    ///
    /// Throws ``PulseError/invalidRequest(reason:)`` if there is no entry with that id. If the entry is removed, but
    /// its content cannot be erased from the journal's file, throws the ``JournalFailure``.
    public func remove(id: UUID) async throws {
        try await log.append([StateMachine.removal(id, .removed)]) { [core] in
            try core.read { machine in
                guard machine.entries[id] != nil else { throw Self.unknown(id) }
            }
            return []
        }
        cancelReplaysOfRemovedEntries()
        // The content should not stay on the disk until a later compaction, unless a compaction copies much.
        if log.size < Self.cheapToCompact { try await compact(always: true) } else { await compactIfNeeded() }
    }

    /// Removes all entries and dead letters: for a logout, if the client's auth plugin knows no accounts. Their content
    /// is erased from the files. Replays in this process are cancelled, and not retried with the next user's token.
    /// Another process may continue its replays until it reads the journal.
    ///
    /// If the files cannot be cleaned, throws after the entries were removed from the queue: call it again later.
    public func removeAll() async throws {
        try await log.append([]) { [core] in
            core.read { machine in machine.entries.keys.map { StateMachine.removal($0, .removed) } }
        }
        cancelReplaysOfRemovedEntries()
        try await purgeFiles()
    }

    /// Removes the entries and dead letters that were queued while that account was logged in, and those whose account
    /// cannot be read. Their content is erased from the files.
    ///
    /// If the files cannot be cleaned, throws after the entries were removed from the queue: call it again later.
    public func removeAll(account: String) async throws {
        let (requests, unreadable) = try await read { _ in true }
        let ids = requests.filter { $0.account == account }.map(\.id) + unreadable
        try await log.append([]) { [core] in
            core.read { machine in
                ids.filter { machine.entries[$0] != nil }.map { StateMachine.removal($0, .removed) }
            }
        }
        cancelReplaysOfRemovedEntries()
        try await purgeFiles()
    }

    /// Erases removed entries from the files. A step that fails does not prevent the other steps; the first failure is
    /// thrown.
    private func purgeFiles() async throws {
        var failures: [any Error] = []
        do { try await compact(always: true) } catch { failures.append(error) }
        do { try await log.discardDamaged() } catch { failures.append(error) }
        // A crash may have left bodies without a record.
        do { try await log.refresh { [self] in try sweepFiles() } } catch { failures.append(error) }
        if let failure = failures.first { throw failure }
    }

    /// Changes the URL, headers or body of an entry that is not being sent. The entry keeps its id, its key and its
    /// position. After a concurrent change, `change` is called again with the newer request.
    ///
    /// Throws ``PulseError/invalidRequest(reason:)`` for an entry that is being sent or does not exist, and for a
    /// header that cannot be sent; ``PulseError/unsupported(_:)`` for a secret header that the policy does not list.
    public func update(
        id: UUID, _ change: @Sendable (inout QueuedRequest) throws -> Void
    ) async throws {
        try await open()
        while true {
            do { return try await updateOnce(id, change) } catch PulseError.custom(is ConcurrentChange) {}
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
            if let files, body.count > BodyFiles.limit {
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
                guard let entry = machine.entries[id], entry.deadLetter == nil else { throw Self.unknown(id) }
                guard !machine.isInFlight(id, entry) else {
                    throw PulseError.invalidRequest(reason: "the entry is being sent")
                }
                // All changes of one write have seen the revision before the first of them.
                guard entry.revision == before.revision, !entry.isChanging else { throw ConcurrentChange() }
            }
        } catch {
            if let newFile { files?.discard(newFile) }
            throw error
        }
        if let newFile { files?.release(newFile) }
        if let old = stored.file, old != updated.file { files?.remove(old) }
        await compactIfNeeded()
    }

    /// Appends a record that changes its entry. The entry is marked from its admission until the record is applied.
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

    /// Waits for the response to an entry, also after a relaunch if the entry is still in the queue then.
    ///
    /// Throws the error of the entry: ``PulseError/deadlineExceeded(last:)`` if it expired, ``PulseError/cancelled`` if
    /// it was removed, ``PulseError/offlineQueueFull`` if it was dropped to make room, the server's refusal if it is a
    /// dead letter. Throws ``PulseError/invalidRequest(reason:)`` for an id that the queue does not know, or no longer
    /// knows. If another process has received the response, the result has its status and no body.
    public func result(of id: UUID) async throws -> PulseResponse {
        try await open()
        startDraining()
        if let response = try await core.outcome(of: id) { return response }
        guard let letter = try await deadLetters().first(where: { $0.id == id }) else { throw Self.unknown(id) }
        throw PulseError.custom(letter.reason)
    }

    /// Sends now the entries that wait for their next attempt, and returns when each was attempted: it was sent, given
    /// up, or waits again. Returns the number of entries that are left. A delay that the server asked for still
    /// applies.
    @discardableResult
    public func drain() async throws -> Int {
        try await open()
        if !core.read({ $0.isIdle }) {
            await core.waitUntilIdle(after: { $0.resume() }) { startDraining() }
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

    /// The requests that can be read. An entry of a newer version fails when it is sent.
    private func requests(_ isWanted: @Sendable (StateMachine.Entry) -> Bool) async throws -> [QueuedRequest] {
        try await read(isWanted).requests
    }

    /// Reads the requests one by one: in memory the queue keeps only their locations.
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

    /// An entry and its request; nil if the entry does not exist, or its request cannot be read.
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

/// The error of a change to an entry that changed since it was read.
private struct ConcurrentChange: Error {}
