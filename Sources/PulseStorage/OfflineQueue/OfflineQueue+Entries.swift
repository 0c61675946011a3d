// SPDX-License-Identifier: MIT

import PulseCore

extension OfflineQueue {
    /// The entries that are pending or in flight, in the order in which they were queued.
    public func pending() async throws -> [Entry] {
        try await store.requests { $0.deadLetter == nil }.requests
    }

    /// The number of entries that are pending or in flight. Cheap enough for a badge: does not read their requests.
    public func count() async throws -> Int {
        try await store.open()
        return store.read(\.pendingCount)
    }

    /// The entries that were given up: the server responded with a status that is neither a success nor a temporary
    /// failure, such as most 4xx; the stored request was damaged; or `maxAttempts` attempts failed. A response that is
    /// too large counts by its status. Dead letters do not expire; only the newest `maxQueueSize` are kept. An entry
    /// that expired or was dropped to make room is not among them.
    public func deadLetters() async throws -> [DeadLetter] {
        var letters: [DeadLetter] = []
        for request in try await store.requests({ $0.deadLetter != nil }).requests {
            let record = try await store.journal.read { [store] in store.read { $0.entries[request.id]?.deadLetter } }
            guard let record else { continue }
            // Show the letter even if its reason cannot be read.
            let reason =
                (try? JSONDecoder().decode(StoredReason.self, from: record.payload))
                ?? StoredReason(.custom(JournalFailure.damagedRecord), now: request.enqueuedAt)
            letters.append(
                DeadLetter(
                    request: request, reason: reason.summary, deadLetteredAt: Date(milliseconds: reason.diedAt)))
        }
        return letters
    }

    /// Queues a dead letter again, last of its tag, with the same idempotency key, a new expiry and zero attempts.
    ///
    /// Throws ``PulseError/invalidRequest(reason:)`` if there is no dead letter with that id.
    public func retryDeadLetter(id: UUID) async throws {
        let record = JournalRecord(QueueOperation.revived.rawValue, id, expiry: try await store.expiry())
        try await store.append(record) { machine in
            guard machine.mayRevive(id) else { throw Self.unknown(id) }
        }
        drainer.start()
    }

    /// Removes an entry or a dead letter. An entry that is being sent is cancelled, but may still arrive.
    ///
    /// Throws ``PulseError/invalidRequest(reason:)`` if there is no entry with that id. If the entry is removed, but
    /// its content cannot be erased from the journal's file, throws the ``JournalFailure``.
    public func remove(id: UUID) async throws {
        try await remove { machine in
            guard machine.entries[id] != nil else { throw Self.unknown(id) }
            return [id]
        }
        try await store.compactAfterRemoval()
    }

    /// Removes all entries and dead letters. Call it at logout if the client's auth plugin knows no accounts. The
    /// content of the entries is erased from the files. Replays in this process are cancelled, and not retried with the
    /// next user's token. Another process may continue its replays until it reads the journal.
    ///
    /// If the files cannot be cleaned, throws after the entries were removed from the queue: call it again later.
    public func removeAll() async throws {
        try await remove { Array($0.entries.keys) }
        try await store.purge()
    }

    /// Removes the entries and dead letters that were queued while that account was logged in, and those whose account
    /// cannot be read. Their content is erased from the files.
    ///
    /// If the files cannot be cleaned, throws after the entries were removed from the queue: call it again later.
    public func removeAll(account: String) async throws {
        let (requests, unreadable) = try await store.requests { _ in true }
        let ids = requests.filter { $0.account == account }.map(\.id) + unreadable
        try await remove { machine in ids.filter { machine.entries[$0] != nil } }
        try await store.purge()
    }

    private func remove(_ choose: @escaping @Sendable (QueueStore.StateMachine) throws -> [UUID]) async throws {
        try await store.remove(choose)
        drainer.cancelReplaysOfRemovedEntries()
    }

    /// Changes the URL, headers or body of an entry that is not being sent. The entry keeps its id, its key and its
    /// position. After a concurrent change, `change` is called again with the newer request.
    ///
    /// Throws ``PulseError/invalidRequest(reason:)`` for an entry that is being sent or does not exist, and for a
    /// header that cannot be sent; ``PulseError/unsupported(_:)`` for a secret header that the policy does not list.
    public func update(
        id: UUID, _ change: @Sendable (inout Entry) throws -> Void
    ) async throws {
        try await store.open()
        while true {
            do { return try await updateOnce(id, change) } catch PulseError.custom(is ConcurrentChange) {}
        }
    }

    private func updateOnce(_ id: UUID, _ change: @Sendable (inout Entry) throws -> Void) async throws {
        guard let (before, stored) = try await store.entry(id),
            var request = Entry(id, stored, before, expiresAt: store.expiresAt(before))
        else { throw Self.unknown(id) }
        do { try change(&request) } catch { throw PulseError(wrapping: error) }
        try check(request.headers)
        var updated = stored
        (updated.url, updated.headers) = (request.url.absoluteString, request.headers)
        var newFile: String?
        if let body = request.body {
            (updated.body, updated.file) = try await store.placed(
                body, "\(id.uuidString)-\(store.randomness.uuid().uuidString)")
            newFile = updated.file
        } else if stored.file == nil {
            updated.body = nil
        }
        do {
            let record = JournalRecord(
                QueueOperation.updated.rawValue, id, tag: before.tag, expiry: before.expiry,
                payload: try updated.encoded())
            try await store.append(record) { machine in
                guard let entry = machine.entries[id], entry.deadLetter == nil else { throw Self.unknown(id) }
                guard !machine.isInFlight(id, entry) else {
                    throw PulseError.invalidRequest(reason: "the entry is being sent")
                }
                // All changes of one write have seen the revision before the first of them.
                guard entry.revision == before.revision, !entry.isChanging else { throw ConcurrentChange() }
            }
        } catch {
            if let newFile { store.files?.discard(newFile) }
            throw error
        }
        if let newFile { store.files?.release(newFile) }
        if let old = stored.file, old != updated.file { store.files?.remove(old) }
        await store.compactIfNeeded()
    }

    /// Waits for the response to an entry, also after a relaunch if the entry is still in the queue then.
    ///
    /// Throws the error of the entry: ``PulseError/deadlineExceeded(last:)`` if it expired, ``PulseError/cancelled`` if
    /// it was removed, ``PulseError/offlineQueueFull`` if it was dropped to make room, or its last failure if it is a
    /// dead letter. Throws ``PulseError/invalidRequest(reason:)`` for an id that the queue does not know, or no longer
    /// knows. If another process has received the response, the result has its status and no body.
    public func result(of id: UUID) async throws -> PulseResponse {
        try await store.open()
        drainer.start()
        let response = try await waiters.outcome(of: id) {
            store.read { machine in machine.entries[id].map { $0.deadLetter == nil } ?? false }
        }
        if let response { return response }
        // The entry may have ended just now, so that its outcome is known once the journal's worker is done.
        try await store.open()
        if let response = try await waiters.outcome(of: id, isPending: { false }) { return response }
        guard let letter = try await deadLetters().first(where: { $0.id == id }) else { throw Self.unknown(id) }
        throw PulseError.custom(letter.reason)
    }

    /// Retries all waiting entries now, and returns once each was sent, given up or scheduled again. Returns the number
    /// of entries that remain. A delay that the server requested still applies.
    @discardableResult
    public func drain() async throws -> Int {
        try await store.open()
        if !store.read(\.isIdle), !Task.isCancelled {
            // Before the wait: a pass that begins after the waiter is registered sees this.
            store.decide { $0.resume() }
            await waiters.waitUntilIdle { drainer.start() }
        }
        return store.read(\.pendingCount)
    }

    // MARK: -

    private static func unknown(_ id: UUID) -> PulseError {
        .invalidRequest(reason: "the offline queue has no such entry: \(id)")
    }

    private func check(_ headers: [String: String]) throws {
        for (name, value) in headers {
            try HTTPHeaders.validate(name: name, value: value)
            guard !redaction.isSecret(name, value: value) || policy.stores(secretHeader: name) else {
                throw PulseError.unsupported("the header \(name) has a secret, which the offline queue does not store")
            }
        }
    }
}

extension OfflineQueuePolicy {
    package func stores(secretHeader name: String) -> Bool {
        storableSecretHeaders.contains { $0.equalsIgnoringASCIICase(name) }
    }
}

/// The error of a change to an entry that changed since it was read.
private struct ConcurrentChange: Error {}
