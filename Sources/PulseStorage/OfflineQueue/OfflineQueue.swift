// SPDX-License-Identifier: MIT

package import PulseCore

/// A queue of calls that found no connection, or that were put into it. It sends them later: in order within a tag,
/// through all plugins of the client, with their first idempotency key.
///
/// A call is in the journal on the disk before its caller gets ``PulseError/queuedOffline(id:)``. From then on it is
/// sent until the server accepts or refuses it, its attempts are used up, it expires, it is removed, or it makes room
/// for another. This survives the end of the process. A call may arrive more than once. Get the queue from
/// `client.offlineQueue`. Safe from any thread. Every method throws ``PulseError``; a disk failure is a
/// ``JournalFailure`` in a ``PulseError/custom(_:)``.
///
/// An app and its extension may share a directory: both add calls, one of them sends at a time. The sender holds a lock
/// on a file there while it sends, and while it backs off after a server's refusal; not while it waits for a
/// connection.
public final class OfflineQueue: Sendable {
    package typealias Send = @Sendable (Replay) async -> ReplayOutcome

    let policy: OfflineQueuePolicy
    let clock: any PulseClock
    let randomness: any Randomness
    let connectivity: any ConnectivityMonitor
    let redaction: Redaction
    let core: QueueCore
    let log: any RecordLog
    let files: BodyFiles?
    let ended: EndedEntries?
    /// The file lock that the draining process holds.
    let drainLock: FileLock?
    let send = Locked<Send?>(nil)
    let work = Locked(Work())
    private let journal: URL?

    /// The tasks that drain the queue.
    struct Work: Sendable {
        var drainer: Task<Void, Never>?
        /// The replays, each with the id of its entry.
        var replays: [Int: (id: UUID, task: Task<Void, Never>)] = [:]
        var nextReplay = 0
        var isClosed = false
    }

    /// Creates a queue that reads and writes nothing before its first use.
    ///
    /// - Parameter directory: the directory of the journal; nil keeps everything in memory.
    package init(
        policy: OfflineQueuePolicy, directory: URL?, clock: any PulseClock = .system,
        randomness: any Randomness = .system, connectivity: any ConnectivityMonitor, events: (any EventSink)? = nil,
        redaction: Redaction = .standard, disk: Disk = .system
    ) {
        self.policy = policy
        self.clock = clock
        self.randomness = randomness
        self.connectivity = connectivity
        self.redaction = redaction
        let files = directory.map { BodyFiles(in: $0, disk: disk) }
        let machine = StateMachine(
            capacity: policy.maxQueueSize, maxAttempts: policy.maxAttempts, dropsOldest: policy.whenFull == .dropOldest)
        let ended = directory.map { EndedEntries(in: $0) }
        let core = QueueCore(machine, files: files, ended: ended, events: events)
        self.ended = ended
        self.core = core
        self.files = files
        let journal = directory?.appendingPathComponent("journal", isDirectory: false)
        self.journal = journal
        if let journal {
            log = AppendLog(journal, disk: disk) { core.apply($0) }
            let lock = journal.deletingLastPathComponent().appendingPathComponent("drainer.lock")
            drainLock = FileLock(path: lock.path, disk: disk)
        } else {
            log = MemoryLog { core.apply($0) }
            drainLock = nil
        }
    }

    deinit {
        core.close()
    }

    /// Sets how entries are sent. Starts draining if the journal may have entries, or if a crash may have left bodies.
    package func start(_ send: @escaping Send) {
        self.send.withLock { $0 = send }
        if mayHaveEntries || files?.isEmpty == false { startDraining() }
    }

    /// Judged by the journal's size, without reading it.
    private var mayHaveEntries: Bool {
        guard let journal, let status = try? SystemFile.status(journal.path) else { return false }
        return status.size > LogHeader.line.count
    }

    /// Cancels the work in progress. Entries stay in the journal.
    package func abandon() {
        let drainer = work.withLock { work in
            work.isClosed = true
            return work.drainer
        }
        drainer?.cancel()
        core.close()
    }

    /// Cancels the work in progress, waits for its end, and closes the journal.
    package func close() async {
        abandon()
        await work.withLock { $0.drainer }?.value
        drainLock?.close()
        await log.close()
    }

    // MARK: Queueing

    /// Writes a request to the journal. Returns the id of its entry, which is valid in other processes too.
    ///
    /// Throws ``PulseError/offlineQueueFull``, ``PulseError/unsupported(_:)`` for a body that can be read only once,
    /// and ``PulseError/custom(_:)`` with a ``JournalFailure``. After an error, the request is not queued.
    ///
    /// - Parameter failure: the failure of the call that is queued; nil if it did not fail, or for another reason.
    package func enqueue(_ draft: QueueDraft, after failure: OfflineQueuePolicy.Failures?) async throws -> UUID {
        guard draft.body.isReplayable else {
            throw PulseError.unsupported("a body that can be read only once cannot wait in the offline queue")
        }
        let id = randomness.uuid()
        // First, so that the drainer does not try an entry that cannot be sent yet.
        switch failure {
        case .noConnection?: core.pause(clock.uptime, randomness)
        case .cannotConnect?, .timeoutBeforeSending?:
            core.decide { $0.backOffUnlessInFlight(draft.options.tag, clock.uptime, randomness) }
        default: break
        }
        do {
            try await store(draft, id)
        } catch is BodyFiles.Vanished {
            // Another process has swept the body's file before the record that names it was written.
            do { try await store(draft, id) } catch { throw PulseError(wrapping: error) }
        }
        core.emit(.offlineQueueEnqueued(id: id))
        // If necessary, the record has already woken a running drainer.
        beginDraining()
        return id
    }

    private func store(_ draft: QueueDraft, _ id: UUID) async throws {
        let (body, file) = try await stored(draft, id.uuidString)
        let stored = StoredRequest(draft, body: body, file: file, now: clock.now)
        let record = LogRecord(
            QueueOperation.enqueued.rawValue, id, tag: draft.options.tag, expiry: expiry, payload: try stored.encoded())
        let dropped = Locked<UUID?>(nil)
        do {
            try await log.append([record]) { [core, files] in
                if let file { try files?.check(file) }
                guard let removal = try core.admit(id) else { return [] }
                dropped.withLock { $0 = removal.id }
                return [removal]
            }
        } catch {
            core.release(id, dropping: dropped.withLock { $0 })
            if let file { files?.discard(file) }
            if case PulseError.custom(let vanished as BodyFiles.Vanished) = error { throw vanished }
            throw error
        }
        if let file { files?.release(file) }
        await compactIfNeeded()
    }

    /// The expiry of an entry queued now, in milliseconds since 1970; 0 for never. A `requestExpiry` of `.infinity`
    /// means never, one of 0 or less means at once.
    var expiry: Int64 {
        guard policy.requestExpiry < .infinity else { return 0 }
        return max(1, (clock.now + max(0, policy.requestExpiry)).milliseconds)
    }

    /// The body for the record, or the name of the file that it was written to.
    func stored(_ draft: QueueDraft, _ name: String) async throws -> (body: Data?, file: String?) {
        switch draft.body {
        case .inRequest:
            guard let data = draft.request.httpBody, !data.isEmpty else { return (nil, nil) }
            guard let files, data.count > BodyFiles.limit else { return (data, nil) }
            try await files.write(name, data)
            return (nil, name)
        case .file(let url):
            return try await stored(BodyReader(url), name)
        case .stream(let stream):
            let bytes: ByteStream
            do { bytes = try await stream.make() } catch { throw PulseError.encodingFailed(underlying: error) }
            return try await stored(BodyReader(bytes), name)
        }
    }

    private func stored(_ reader: BodyReader, _ name: String) async throws -> (body: Data?, file: String?) {
        if let files {
            try await files.write(name) { try await reader.next() }
            return (nil, name)
        }
        var all = Data()
        do {
            while let chunk = try await reader.next() { all += chunk }
        } catch {
            throw PulseError(wrapping: error)
        }
        return (all, nil)
    }

    /// Whether an entry with that tag is pending, from whatever process.
    package func hasPending(tag: String?) async throws -> Bool {
        try await open()
        return core.hasPending(tag: tag)
    }

    /// Reads the records that other processes have appended.
    func open() async throws {
        try await log.refresh {}
    }
}
