// SPDX-License-Identifier: MIT

package import PulseCore

/// A queue of calls that found no connection, or that were enqueued explicitly. It sends them later: in order within a
/// tag, through all plugins of the client, with their original idempotency key.
///
/// A call is in the journal on the disk before its caller gets ``PulseError/queuedOffline(id:)``. The queue then
/// retries it, even after a relaunch, until the server accepts or refuses it, its attempts are used up, or it expires,
/// is removed, or is dropped to make room. A call may arrive more than once. Get the queue from `client.offlineQueue`.
/// Safe from any thread. Every method throws ``PulseError``; a disk failure is a ``JournalFailure`` in a
/// ``PulseError/custom(_:)``.
///
/// An app and its extension may share a directory: both add calls, but only one sends at a time. The sender holds a
/// lock on a file there while it sends, and while it backs off after a server's refusal; not while it waits for a
/// connection.
public final class OfflineQueue: Sendable {
    package typealias Send = @Sendable (QueuedSend) async -> ReplayOutcome

    let policy: OfflineQueuePolicy
    let redaction: Redaction
    let store: QueueStore
    let drainer: QueueDrainer
    let waiters = QueueWaiters()

    /// Creates a queue that reads and writes nothing before its first use.
    ///
    /// - Parameter directory: the directory of the journal; nil keeps everything in memory.
    package init(
        policy: OfflineQueuePolicy, directory: URL?, clock: any PulseClock = .system,
        randomness: any Randomness = .system, connectivity: any ConnectivityMonitor, events: (any EventSink)? = nil,
        redaction: Redaction = .standard, disk: Disk = .system
    ) {
        self.policy = policy
        self.redaction = redaction
        store = QueueStore(
            policy, directory: directory, clock: clock, randomness: randomness, waiters: waiters, events: events,
            disk: disk)
        let lock = directory.map { FileLock(path: $0.appendingPathComponent("drainer.lock").path, disk: disk) }
        drainer = QueueDrainer(store, connectivity: connectivity, lock: lock)
    }

    /// Sets the function that sends entries. Starts draining if the journal may have entries, or if a crash may have
    /// left bodies.
    package func start(_ send: @escaping Send) {
        drainer.send(by: send)
        if store.mayHaveEntries { drainer.start() }
    }

    /// Cancels the work in progress. Entries stay in the journal.
    package func abandon() {
        drainer.abandon()
    }

    /// Stops sending. Calls can still be queued, for the next launch.
    package func beginFinishing() {
        drainer.beginFinishing()
    }

    /// Waits until the replays in progress have ended, and their outcomes are in the journal.
    package func finish() async {
        await drainer.task?.value
    }

    /// Cancels the work in progress, waits for its end, and closes the journal.
    package func close() async {
        await drainer.close()
        await store.journal.close()
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
        let id = store.randomness.uuid()
        // First, so that the drainer does not try an entry that cannot be sent yet.
        if let failure { store.delay(draft.options.tag, after: failure) }
        do {
            try await store.add(draft, id)
        } catch PulseError.custom(is BodyFiles.Vanished) {
            // Another process swept the body's file before the record that names it was written.
            try await store.add(draft, id)
        }
        store.emit(.offlineQueueEnqueued(id: id))
        // If necessary, the record has already woken a running drainer.
        drainer.begin()
        return id
    }

    /// Whether an entry with that tag is pending, from any process.
    package func hasPending(tag: String?) async throws -> Bool {
        try await store.open()
        return store.read { $0.hasPending(tag: tag) }
    }
}
