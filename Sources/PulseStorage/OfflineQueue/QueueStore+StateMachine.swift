// SPDX-License-Identifier: MIT

import PulseCore

extension QueueStore {
    /// The queue's state and decisions, without a clock, a file or a task.
    ///
    /// The entries and their order are a fold over the journal's records. Every process that reads the same journal has
    /// the same entries, also after a crash. Transient state is kept beside them: entries in flight, and waits after
    /// failures.
    struct StateMachine: Sendable {
        struct Entry: Sendable {
            let tag: String?
            /// By the queue's time; 0 for never.
            var expiry: Int64
            var location: JournalLocation
            /// The attempts so far: refusals by the server, and attempts that could not be sent.
            var attempts = 0
            /// Its position among all entries. A revived entry gets a new one.
            var order: UInt64
            /// The record with the reason why the entry was given up; nil if it is not a dead letter.
            var deadLetter: JournalLocation?
            /// The number of changes to the entry. Another process may change an entry while this one sends it.
            var revision = 0
            /// Whether the entry was revived: its first record has an outdated expiry.
            var isRevived = false
            /// Whether a record that ends the entry is about to be written.
            var isEnding = false
            /// Whether a new revision of the entry, or its revival, is about to be written.
            var isChanging = false

            var isUpdated: Bool { revision > 0 }
        }

        enum Action: Sendable, Equatable {
            case send(UUID, tag: String?)
            /// Writes the record, which ends the entry.
            case end(UUID, QueueRemoval)
            /// Retries a write that failed.
            case record(UUID, JournalRecord, tag: String?)

            /// The id of its entry.
            var id: UUID {
                switch self {
                case .send(let id, _), .end(let id, _), .record(let id, _, _): id
                }
            }

            var isSend: Bool {
                if case .send = self { true } else { false }
            }
        }

        /// The effect of a record, for waiters and events.
        enum Effect: Sendable, Equatable {
            case removed(UUID, QueueRemoval, wasUpdated: Bool)
            /// Another process has ended the entry and compacted its records away.
            case vanished(UUID, wasUpdated: Bool)
            case deadLettered(UUID)

            var removedID: UUID? {
                if case .removed(let id, _, _) = self { id } else { nil }
            }
        }

        /// The number of entries in flight at the same time, each of another tag.
        static let parallelism = 8
        /// The largest count that is read from a journal. Larger ones are clamped.
        private static let largestCount = 1 << 30
        /// The longest backoff in seconds that the queue chooses. Only a server may request more.
        static let longestBackoff: TimeInterval = 300
        static let backoff = BackoffStrategy.exponentialWithJitter(base: 1, maxDelay: longestBackoff)

        let capacity: Int
        let maxAttempts: Int
        let dropsOldest: Bool
        var entries: [UUID: Entry] = [:]
        /// The bytes of the live records.
        private(set) var liveBytes = 0
        private(set) var deadCount = 0
        var inFlightCount = 0
        var tagQueues: [String?: TagQueue] = [:]
        var nextOrder: UInt64 = 0
        /// The time by which entries expire. Each `now` is read from it.
        var time = QueueTime()
        /// The time before which no entry expires.
        var firstExpiry = Int64.max
        /// Tags that may have something to send, in the order in which they are served.
        var ready = Fifo<String?>()
        /// Tags that wait after a failure.
        var backingOff: Set<String?> = []
        /// The entries about to be written, each with the entry that makes room for it.
        var reserved: [UUID: UUID?] = [:]
        /// The drainer's sleep; nil during a drain pass.
        var sleep: Sleep?
        var pausedUntil: TimeInterval = 0
        var offlineFailures = 0
        var unrecorded: [UUID: Unrecorded] = [:]
        /// The uptime before which no surplus dead letter is removed, since a removal has just failed.
        var surplusDue: TimeInterval = 0
        /// Why the last entries ended.
        private(set) var ended = LRUCache<UUID, QueueRemoval>(capacity: EndedEntries.capacity)

        /// The end of the drainer's sleep, and the first expiry that it accounts for.
        struct Sleep: Sendable {
            let end: TimeInterval
            let firstExpiry: Int64
        }

        struct Unrecorded: Sendable {
            let record: JournalRecord
            let tag: String?
            var due: TimeInterval
            var failures: Int
        }

        init(capacity: Int, maxAttempts: Int, dropsOldest: Bool) {
            self.capacity = capacity
            self.maxAttempts = maxAttempts
            self.dropsOldest = dropsOldest
        }

        var pendingCount: Int { entries.count - deadCount }

        var endReasons: [(id: UUID, reason: QueueRemoval)] {
            ended.keys.compactMap { id in ended.peek(id).map { (id, $0) } }
        }

        /// Whether no entry is pending or in flight, and no record is left to write.
        var isIdle: Bool { inFlightCount == 0 && pendingCount == 0 && unrecorded.isEmpty }
    }
}

// MARK: - Applying records

extension QueueStore.StateMachine {
    /// Applies a change of the journal.
    mutating func apply(_ change: JournalChange) -> [Effect] {
        switch change {
        case .reset(let items): return reset(items)
        case .appended(let items):
            let quiet = [QueueOperation.enqueued.byte, QueueOperation.marked.byte]
            if items.contains(where: { !quiet.contains($0.operation) }) { sleep = nil }
            return items.compactMap { apply($0) }
        case .damaged: return []
        }
    }

    /// Applies a record. A record of an unknown entry changes nothing.
    mutating func apply(_ item: JournalItem) -> Effect? {
        guard let operation = QueueOperation(byte: item.operation) else { return nil }
        if operation == .enqueued {
            insert(item)
            return nil
        }
        if operation == .marked {
            time.mark = QueueTime.Mark(note: item.note) ?? time.mark
            return nil
        }
        guard var entry = entries[item.id] else { return nil }
        switch operation {
        case .enqueued, .marked:
            return nil
        case .updated:
            liveBytes += item.location.length - entry.location.length
            (entry.location, entry.expiry, entry.isChanging) = (item.location, item.expiry, false)
            entry.revision += 1
            firstExpiry = min(firstExpiry, item.expiry == 0 ? .max : item.expiry)
        case .attempted:
            entry.attempts = Self.count(item) ?? min(entry.attempts + 1, Self.largestCount)
        case .revised:
            entry.revision = max(entry.revision, Self.count(item) ?? 1)
        case .deadLettered:
            guard entry.deadLetter == nil else { return nil }
            (entry.deadLetter, entry.isEnding) = (item.location, false)
            deadCount += 1
            liveBytes += item.location.length
        case .revived:
            guard let deadLetter = entry.deadLetter else { return nil }
            (entry.deadLetter, entry.attempts, entry.expiry, entry.order) = (nil, 0, item.expiry, nextOrder)
            (entry.isRevived, entry.isChanging) = (true, false)
            deadCount -= 1
            liveBytes -= deadLetter.length
        case .removed:
            remove(item.id, entry)
            let reason = QueueRemoval(note: item.note)
            ended.withValue(for: item.id, default: reason) { $0 = reason }
            return .removed(item.id, reason, wasUpdated: entry.isUpdated)
        }
        entries[item.id] = entry
        if operation == .revived { appendToTagQueue(item.id, entry) }
        guard operation == .deadLettered else { return nil }
        markReady(entry.tag)
        return .deadLettered(item.id)
    }

    private static func count(_ item: JournalItem) -> Int? {
        Int(String(decoding: item.note, as: UTF8.self)).map { min(max(0, $0), largestCount) }
    }

    private mutating func insert(_ item: JournalItem) {
        reserved[item.id] = nil
        guard entries[item.id] == nil else { return }
        let entry = Entry(tag: item.tag, expiry: item.expiry, location: item.location, order: nextOrder)
        entries[item.id] = entry
        liveBytes += item.location.length
        appendToTagQueue(item.id, entry)
    }

    private mutating func appendToTagQueue(_ id: UUID, _ entry: Entry) {
        nextOrder += 1
        if entry.expiry != 0 { firstExpiry = min(firstExpiry, entry.expiry) }
        tagQueues[entry.tag, default: TagQueue()].ids.append((id, entry.order))
        markReady(entry.tag)
    }

    private mutating func remove(_ id: UUID, _ entry: Entry) {
        entries[id] = nil
        liveBytes -= entry.location.length
        if let deadLetter = entry.deadLetter {
            deadCount -= 1
            liveBytes -= deadLetter.length
        }
        markReady(entry.tag)
    }

    /// Rebuilds the state from all records. Keeps the entries in flight and the waits after failures.
    mutating func reset(_ items: [JournalItem]) -> [Effect] {
        let before = self
        self = Self(capacity: capacity, maxAttempts: maxAttempts, dropsOldest: dropsOldest)
        entries.reserveCapacity(items.count)
        // Only entries known before count: the others ended before this process read the journal.
        ended = before.ended
        time = before.time
        time.mark = nil
        var effects = items.compactMap { apply($0) }.filter { effect in
            switch effect {
            case .removed(let id, _, _), .vanished(let id, _): before.entries[id] != nil
            case .deadLettered(let id): before.entries[id].map { $0.deadLetter == nil } ?? false
            }
        }
        (reserved, pausedUntil, offlineFailures) = (before.reserved, before.pausedUntil, before.offlineFailures)
        (unrecorded, inFlightCount, surplusDue) = (before.unrecorded, before.inFlightCount, before.surplusDue)
        for (tag, queue) in before.tagQueues where queue.inFlight != nil || queue.failures > 0 || queue.due > 0 {
            tagQueues[tag, default: TagQueue()].resume(queue)
            if queue.inFlight == nil, queue.due > 0 { backingOff.insert(tag) }
        }
        let removed = Set(effects.compactMap(\.removedID))
        for (id, entry) in before.entries {
            if entries[id] == nil, !removed.contains(id) {
                effects.append(.vanished(id, wasUpdated: entry.isUpdated))
            } else {
                if entry.isEnding { entries[id]?.isEnding = true }
                // Earlier versions compact without a record of the number of revisions.
                let counted = entries[id]?.revision ?? 0
                entries[id]?.revision = max(entry.revision, counted)
            }
        }
        return effects
    }

    /// The records that the journal needs, in an order that rebuilds this state.
    func contents() -> [JournalContent] {
        let mark = entries.isEmpty ? nil : time.mark.map { JournalContent.record($0.record) }
        return [mark].compactMap { $0 }
            + entries.sorted { $0.value.order < $1.value.order }.flatMap { contents(of: $0.key, $0.value) }
    }

    private func contents(of id: UUID, _ entry: Entry) -> [JournalContent] {
        let isUnchanged = !entry.isUpdated && !entry.isRevived
        var contents: [JournalContent] = [
            isUnchanged
                ? .copy(entry.location)
                : .changed(entry.location, operation: QueueOperation.enqueued.byte, expiry: entry.expiry)
        ]
        if entry.isUpdated { contents.append(.record(Self.revisions(id, entry.revision))) }
        if entry.attempts > 0 { contents.append(.record(Self.attempt(id, entry.attempts))) }
        if let deadLetter = entry.deadLetter { contents.append(.copy(deadLetter)) }
        return contents
    }

    static func attempt(_ id: UUID, _ count: Int) -> JournalRecord {
        JournalRecord(QueueOperation.attempted.rawValue, id, payload: Data("\(count)".utf8))
    }

    static func revisions(_ id: UUID, _ count: Int) -> JournalRecord {
        JournalRecord(QueueOperation.revised.rawValue, id, payload: Data("\(count)".utf8))
    }

    static func removal(_ id: UUID, _ reason: QueueRemoval) -> JournalRecord {
        JournalRecord(QueueOperation.removed.rawValue, id, payload: reason.note)
    }
}

// MARK: - Admitting entries

extension QueueStore.StateMachine {
    /// Reserves a slot, and returns the record that makes room for it if the policy allows that. Throws
    /// ``PulseError/offlineQueueFull``.
    mutating func admit(_ id: UUID) throws(PulseError) -> JournalRecord? {
        if pendingCount + reserved.count < capacity {
            reserved.updateValue(nil, forKey: id)
            return nil
        }
        guard dropsOldest, capacity > 0, let oldest = oldestNotInFlight() else { throw .offlineQueueFull }
        entries[oldest]?.isEnding = true
        reserved[id] = oldest
        return Self.removal(oldest, .dropped)
    }

    /// Releases a reserved slot, since nothing was written.
    mutating func release(_ id: UUID) {
        guard let dropped = reserved.removeValue(forKey: id) ?? nil, let entry = entries[dropped] else { return }
        entries[dropped]?.isEnding = false
        markReady(entry.tag)
    }

    private func oldestNotInFlight() -> UUID? {
        entries.filter { $0.value.deadLetter == nil && !$0.value.isEnding && !isInFlight($0.key, $0.value) }
            .min { $0.value.order < $1.value.order }?.key
    }

    func isInFlight(_ id: UUID, _ entry: Entry) -> Bool {
        tagQueues[entry.tag]?.inFlight == id
    }

    /// Whether an entry with that tag is pending.
    func hasPending(tag: String?) -> Bool {
        guard let queue = tagQueues[tag] else { return false }
        if let id = queue.inFlight, entries[id] != nil { return true }
        return queue.ids.elements.contains { id, order in
            entries[id].map { $0.deadLetter == nil && $0.order == order } ?? false
        }
    }
}
