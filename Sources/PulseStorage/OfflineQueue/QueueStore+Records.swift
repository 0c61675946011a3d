// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

// Writing records, and keeping the journal small.
extension QueueStore {
    // MARK: Adding and changing entries

    /// Delays sending, since a call with that tag has failed and is about to be queued.
    func delay(_ tag: String?, after failure: OfflineQueuePolicy.Failures) {
        let uptime = clock.uptime
        switch failure {
        case .noConnection: decide { $0.pause(uptime, randomness) }
        case .cannotConnect, .timeoutBeforeSending: decide { $0.backOffUnlessInFlight(tag, uptime, randomness) }
        default: break
        }
    }

    /// Writes a request to the journal. After an error, it is not queued.
    func add(_ draft: QueueDraft, _ id: UUID) async throws {
        let (body, file) = try await placed(draft, id.uuidString)
        do {
            let request = StoredRequest(draft, body: body, file: file, now: clock.now)
            let record = JournalRecord(
                QueueOperation.enqueued.rawValue, id, tag: draft.options.tag, expiry: try await expiry(),
                payload: try request.encoded())
            try await journal.append([record]) { [self] in
                if let file { try files?.check(file) }
                let dropped = try decide { try $0.admit(id) }
                return [dropped, record.expiry == 0 ? nil : dueMark()].compactMap { $0 }
            }
        } catch {
            change { $0.release(id) }
            if let file { files?.discard(file) }
            throw error
        }
        if let file { files?.release(file) }
        await compactIfNeeded()
    }

    /// Writes a record that changes its entry. The entry is marked from its admission until the record is applied.
    func append(_ record: JournalRecord, if admission: @escaping @Sendable (StateMachine) throws -> Void) async throws {
        let isAdmitted = Locked(false)
        do {
            try await journal.append([record]) { [self] in
                try decide { machine in
                    try admission(machine)
                    machine.entries[record.id]?.isChanging = true
                }
                isAdmitted.withLock { $0 = true }
                return [record.expiry == 0 ? nil : dueMark()].compactMap { $0 }
            }
        } catch {
            if isAdmitted.withLock({ $0 }) { decide { $0.entries[record.id]?.isChanging = false } }
            throw error
        }
    }

    /// Removes the entries that `choose` returns when all earlier records are applied.
    func remove(_ choose: @escaping @Sendable (StateMachine) throws -> [UUID]) async throws {
        try await journal.append([]) { [self] in try read(choose).map { StateMachine.removal($0, .removed) } }
    }

    // MARK: Time

    /// The expiry of an entry queued now, in the queue's time; 0 for never. A `requestExpiry` of `.infinity` means
    /// never, one of 0 or less means at once.
    func expiry() async throws -> Int64 {
        guard requestExpiry < .infinity else { return 0 }
        if !read(\.time.isStarted) { try await open() }
        return max(1, time() + Date(timeIntervalSince1970: max(0, requestExpiry)).milliseconds)
    }

    /// Writes a time mark if it is due. A later launch needs it to know the age of the entries.
    func markTime() async {
        guard read({ $0.firstExpiry != .max }), let mark = dueMark() else { return }
        // Without the mark, the next launch counts a jump of the wall clock as time.
        try? await journal.append([mark])
    }

    private func dueMark() -> JournalRecord? {
        let (uptime, wall) = (clock.uptime, clock.now.milliseconds)
        return decide { $0.time.dueMark(uptime: uptime, wall: wall) }
    }

    // MARK: Bodies

    /// The body for the record, or the name of the file that it was written to.
    func placed(_ body: Data, _ name: @autoclosure () -> String) async throws -> (body: Data?, file: String?) {
        guard let files, body.count > BodyFiles.limit else { return (body, nil) }
        let name = name()
        try await files.write(name, body)
        return (nil, name)
    }

    private func placed(_ draft: QueueDraft, _ name: String) async throws -> (body: Data?, file: String?) {
        let bytes: ByteStream
        switch draft.body {
        case .inRequest:
            guard let data = draft.request.httpBody, !data.isEmpty else { return (nil, nil) }
            return try await placed(data, name)
        case .file(let url): bytes = try await Self.bytes(of: url)
        case .stream(let stream):
            do { bytes = try await stream.make() } catch { throw PulseError.encodingFailed(underlying: error) }
        }
        guard let files else { return (try await bytes.collect(upTo: .max), nil) }
        let iterator = bytes.makeAsyncIterator()
        try await files.write(name) {
            // A copy continues where the last one stopped: the stream holds the position.
            var reader = iterator
            return try await reader.next()
        }
        return (nil, name)
    }

    private static func bytes(of file: URL) async throws -> ByteStream {
        let chunkSize = 256 << 10
        let pool = BlockingThreadPool.files(of: file)
        let handle = try await encoding { try await pool.read { try FileHandle.reading(file) } }
        return ByteStream(next: {
            let chunk = try await Self.encoding {
                try await pool.read { try handle.read(upToCount: chunkSize) }
            }
            return chunk?.isEmpty == false ? chunk : nil
        })
    }

    /// Throws ``PulseError/encodingFailed(underlying:)`` for a failure of `body`.
    private static func encoding<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            throw error is CancellationError ? PulseError.cancelled : .encodingFailed(underlying: error)
        }
    }

    /// Removes bodies without an entry. Call it under the journal's lock. Throws ``JournalFailure``.
    func sweepFiles() throws {
        try files?.sweep { id in read { $0.entries[id] != nil } }
    }

    // MARK: Outcomes

    /// Handles the outcome of a replay: writes its record if it has one, then lets the next entry of the tag be sent.
    func finish(_ id: UUID, tag: String?, _ outcome: ReplayOutcome) async {
        let now = clock.now
        let result = outcome.result(now: now)
        let reason = {
            guard case .failure(let error) = result else { return Data() }
            return StoredReason(error, now: now).encoded
        }
        let verdict = outcome.verdict(now: now)
        let record = decide {
            $0.finish(id, tag: tag, verdict, reason: reason(), uptime: clock.uptime, randomness: randomness)
        }
        guard let record else { return settle(id, tag: tag) }
        // The outcome of an entry that stays queued is not stored: a later one replaces it, maybe in another process.
        if record.operation != QueueOperation.attempted.byte { waiters.hold(result, of: id) }
        await write(record, id, tag: tag)
    }

    /// Writes the record of an outcome. If that fails, a later drain pass tries again.
    func write(_ record: JournalRecord, _ id: UUID, tag: String?) async {
        do {
            try await journal.append([record]) { [self] in
                if read({ $0.isOutdated(record, tag: tag) }) { throw Outdated() }
                return []
            }
            // No effect if the entry was removed just before.
            waiters.drop(id)
            settle(id, tag: tag)
            await compactIfNeeded()
        } catch PulseError.custom(is Outdated) {
            waiters.drop(id)
            settle(id, tag: tag)
        } catch {
            decide { $0.postpone(id, tag: tag, record, uptime: clock.uptime, randomness: randomness) }
            emit(.warning("the offline queue cannot write its journal: \(PulseError(wrapping: error))"))
        }
    }

    /// Writes the record that ends an entry which is not sent. If that fails, a later drain pass tries again.
    func end(_ id: UUID, _ reason: QueueRemoval) async {
        do {
            try await journal.append([StateMachine.removal(id, reason)]) { [self] in
                guard read({ $0.mayEnd(id, reason) }) else { throw Outdated() }
                return []
            }
            await compactIfNeeded()
        } catch {
            let now = time()
            decide { $0.postponeEnd(id, uptime: clock.uptime, now: now) }
        }
    }

    func settle(_ id: UUID, tag: String?) {
        change { $0.settle(id, tag: tag, uptime: clock.uptime) }
    }

    /// The error of a record that is about an earlier revision of its entry.
    private struct Outdated: Error {}

    // MARK: Compaction

    /// Compacts the journal when less than half of it is live.
    func compactIfNeeded() async {
        let live = read(\.liveBytes)
        if journal.size > 256 << 10, live < journal.size - live { await compactAndReport() }
    }

    /// Compacts the journal. A failure is reported as a warning; the journal stays as it is.
    func compactAndReport() async {
        do {
            try await compact()
        } catch {
            emit(.warning("the offline queue cannot compact its journal: \(PulseError(wrapping: error))"))
        }
    }

    /// Erases the content of a removed entry at once if the journal is small. Otherwise it stays until less than half
    /// of the journal is live, because a compaction copies much.
    func compactAfterRemoval() async throws {
        if journal.size < 128 << 10 { try await compact(always: true) } else { await compactIfNeeded() }
    }

    /// Removes dead records from the journal.
    ///
    /// - Parameter always: whether to compact even if more than half of the journal is live.
    private func compact(always: Bool = false) async throws {
        try await journal.compact { [self] in
            let contents = read { machine in
                always || machine.liveBytes < journal.size - machine.liveBytes ? machine.contents() : nil
            }
            // Written first, so that other processes can read the reasons when the records are gone.
            if contents != nil { ended?.add(read(\.endReasons)) }
            return contents
        }
    }

    /// Erases removed entries from the files. A step that fails does not prevent the other steps; the first failure is
    /// thrown.
    func purge() async throws {
        var failures: [any Error] = []
        do { try await compact(always: true) } catch { failures.append(error) }
        do { try await journal.discardDamaged() } catch { failures.append(error) }
        // A crash may have left bodies without a record.
        do { try await journal.refresh { [self] in try sweepFiles() } } catch { failures.append(error) }
        if let failure = failures.first { throw failure }
    }
}
