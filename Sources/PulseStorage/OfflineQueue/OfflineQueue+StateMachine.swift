// SPDX-License-Identifier: MIT

import PulseCore

extension OfflineQueue {
    /// What the queue knows and decides, without a clock, a file or a task.
    ///
    /// The entries and their order are a fold over the journal's records: whoever reads the same journal, after a crash
    /// or in another process, has the same ones. Beside them stands what ends with the process: what is on its way, and
    /// until when a failure holds something up.
    struct StateMachine: Sendable {
        struct Entry: Sendable {
            let tag: String?
            /// Milliseconds since 1970; 0 for never.
            var expiry: Int64
            var location: LogLocation
            /// Verdicts of the server so far, and tries that could not be sent.
            var attempts = 0
            /// Its place among all; an entry that was revived gets a new one.
            var order: UInt64
            /// The record with the reason why it was given up; nil if it was not.
            var death: LogLocation?
            /// The number of its changes: another process may have changed it while it was on its way from here.
            var revision = 0
            /// Whether it was revived: the record that it came in with has an older expiry.
            var isRevived = false
            /// Whether a record that ends it is about to be written.
            var isEnding = false
            /// Whether a changed form of it, or its revival, is about to be written.
            var isChanging = false

            var isUpdated: Bool { revision > 0 }
        }

        enum Action: Sendable, Equatable {
            case send(UUID, tag: String?)
            /// Writes the record, which ends the entry.
            case end(UUID, QueueRemoval)
            /// Writes again what could not be written.
            case record(UUID, LogRecord, tag: String?)

            var isSend: Bool {
                if case .send = self { true } else { false }
            }
        }

        /// What a record changed, for those who wait for it.
        enum Effect: Sendable, Equatable {
            case removed(UUID, QueueRemoval, wasUpdated: Bool)
            /// Another process has ended it and taken its records out of the journal.
            case vanished(UUID, wasUpdated: Bool)
            case deadLettered(UUID)

            var removedID: UUID? {
                if case .removed(let id, _, _) = self { id } else { nil }
            }
        }

        /// The number of entries on their way at the same time, each of another tag.
        static let parallelism = 8
        /// The largest count that is taken from a journal; larger ones count as this.
        private static let largestCount = 1 << 30
        /// The longest wait in seconds that the queue sets by itself; only a server may ask for more.
        static let longestBackoff: TimeInterval = 300
        static let backoff = BackoffStrategy.exponentialWithJitter(base: 1, maxDelay: longestBackoff)

        let capacity: Int
        let maxAttempts: Int
        let dropsOldest: Bool
        var entries: [UUID: Entry] = [:]
        /// The bytes of the records that count.
        private(set) var liveBytes = 0
        private(set) var deadCount = 0
        var inFlightCount = 0
        var lines: [String?: Line] = [:]
        var nextOrder: UInt64 = 0
        /// The time before which no entry expires, in milliseconds since 1970.
        var firstExpiry = Int64.max
        var ready = ReadyList()
        /// Tags whose first entry waits for its time.
        var backingOff: Set<String?> = []
        var reserved: Set<UUID> = []
        var pausedUntil: TimeInterval = 0
        var offlineFailures = 0
        var unrecorded: [UUID: Unrecorded] = [:]
        /// The uptime before which no surplus dead letter is removed, since that has just failed.
        var surplusDue: TimeInterval = 0
        /// Why the last entries ended.
        private(set) var ended = LRUCache<UUID, QueueRemoval>(capacity: EndedEntries.capacity)

        struct Unrecorded: Sendable {
            let record: LogRecord
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

        /// Whether nothing waits, is on its way, or is still to be written.
        var isIdle: Bool { inFlightCount == 0 && pendingCount == 0 && unrecorded.isEmpty }
    }
}

// MARK: - What the journal says

extension OfflineQueue.StateMachine {
    /// Applies a record; one of an entry that is not there changes nothing.
    mutating func apply(_ item: LogItem) -> Effect? {
        guard let operation = QueueOperation(byte: item.operation) else { return nil }
        if operation == .enqueued {
            insert(item)
            return nil
        }
        guard var entry = entries[item.id] else { return nil }
        switch operation {
        case .enqueued:
            return nil
        case .updated:
            liveBytes += item.location.length - entry.location.length
            (entry.location, entry.expiry, entry.isChanging) = (item.location, item.expiry, false)
            entry.revision += 1
            firstExpiry = min(firstExpiry, item.expiry == 0 ? .max : item.expiry)
        case .attempted:
            entry.attempts = Self.count(item) ?? min(entry.attempts + 1, Self.largestCount)
        case .reformed:
            entry.revision = max(entry.revision, Self.count(item) ?? 1)
        case .deadLettered:
            guard entry.death == nil else { return nil }
            (entry.death, entry.isEnding) = (item.location, false)
            deadCount += 1
            liveBytes += item.location.length
        case .revived:
            guard let death = entry.death else { return nil }
            (entry.death, entry.attempts, entry.expiry, entry.order) = (nil, 0, item.expiry, nextOrder)
            (entry.isRevived, entry.isChanging) = (true, false)
            deadCount -= 1
            liveBytes -= death.length
        case .removed:
            remove(item.id, entry)
            let reason = QueueRemoval(note: item.note)
            ended.withValue(for: item.id, default: reason) { $0 = reason }
            return .removed(item.id, reason, wasUpdated: entry.isUpdated)
        }
        entries[item.id] = entry
        if operation == .revived { queue(item.id, entry) }
        guard operation == .deadLettered else { return nil }
        list(entry.tag)
        return .deadLettered(item.id)
    }

    private static func count(_ item: LogItem) -> Int? {
        Int(String(decoding: item.note, as: UTF8.self)).map { min(max(0, $0), largestCount) }
    }

    private mutating func insert(_ item: LogItem) {
        reserved.remove(item.id)
        guard entries[item.id] == nil else { return }
        let entry = Entry(tag: item.tag, expiry: item.expiry, location: item.location, order: nextOrder)
        entries[item.id] = entry
        liveBytes += item.location.length
        queue(item.id, entry)
    }

    private mutating func queue(_ id: UUID, _ entry: Entry) {
        nextOrder += 1
        if entry.expiry != 0 { firstExpiry = min(firstExpiry, entry.expiry) }
        lines[entry.tag, default: Line()].append(id, entry.order)
        list(entry.tag)
    }

    private mutating func remove(_ id: UUID, _ entry: Entry) {
        entries[id] = nil
        liveBytes -= entry.location.length
        if let death = entry.death {
            deadCount -= 1
            liveBytes -= death.length
        }
        list(entry.tag)
    }

    /// Starts again from all records, and keeps what is on its way and what is held up.
    mutating func reset(_ items: [LogItem]) -> [Effect] {
        let before = self
        self = Self(capacity: capacity, maxAttempts: maxAttempts, dropsOldest: dropsOldest)
        entries.reserveCapacity(items.count)
        // Only entries known before count: others ended before this process read the journal.
        ended = before.ended
        var effects = items.compactMap { apply($0) }.filter { effect in
            switch effect {
            case .removed(let id, _, _), .vanished(let id, _): before.entries[id] != nil
            case .deadLettered(let id): before.entries[id].map { $0.death == nil } ?? false
            }
        }
        (reserved, pausedUntil, offlineFailures) = (before.reserved, before.pausedUntil, before.offlineFailures)
        (unrecorded, inFlightCount, surplusDue) = (before.unrecorded, before.inFlightCount, before.surplusDue)
        for (tag, line) in before.lines where line.inFlight != nil || line.failures > 0 || line.due > 0 {
            lines[tag, default: Line()].resume(line)
            if line.inFlight == nil, line.due > 0 { backingOff.insert(tag) }
        }
        let removed = Set(effects.compactMap(\.removedID))
        for (id, entry) in before.entries {
            if entries[id] == nil, !removed.contains(id) {
                effects.append(.vanished(id, wasUpdated: entry.isUpdated))
            } else {
                if entry.isEnding { entries[id]?.isEnding = true }
                // An earlier version compacts without a record of the number of forms.
                let counted = entries[id]?.revision ?? 0
                entries[id]?.revision = max(entry.revision, counted)
            }
        }
        return effects
    }

    /// The records that the journal needs, in an order that leads to this state.
    func contents() -> [LogContent] {
        entries.sorted { $0.value.order < $1.value.order }.flatMap { id, entry -> [LogContent] in
            let isAsItCame = !entry.isUpdated && !entry.isRevived
            var contents: [LogContent] = [
                isAsItCame
                    ? .copy(entry.location)
                    : .changed(entry.location, operation: QueueOperation.enqueued.byte, expiry: entry.expiry)
            ]
            if entry.isUpdated { contents.append(.record(Self.forms(id, entry.revision))) }
            if entry.attempts > 0 { contents.append(.record(Self.attempt(id, entry.attempts))) }
            if let death = entry.death { contents.append(.copy(death)) }
            return contents
        }
    }

    static func attempt(_ id: UUID, _ count: Int) -> LogRecord {
        LogRecord(QueueOperation.attempted.rawValue, id, payload: Data("\(count)".utf8))
    }

    static func forms(_ id: UUID, _ count: Int) -> LogRecord {
        LogRecord(QueueOperation.reformed.rawValue, id, payload: Data("\(count)".utf8))
    }

    static func removal(_ id: UUID, _ reason: QueueRemoval) -> LogRecord {
        LogRecord(QueueOperation.removed.rawValue, id, payload: reason.note)
    }
}

// MARK: - What comes in

extension OfflineQueue.StateMachine {
    /// Reserves a place, and returns the record that makes room for it if the policy says so. Throws
    /// ``PulseError/offlineQueueFull``.
    mutating func admit(_ id: UUID) throws(PulseError) -> LogRecord? {
        if pendingCount + reserved.count < capacity {
            reserved.insert(id)
            return nil
        }
        guard dropsOldest, capacity > 0, let oldest = oldestAtRest() else { throw .offlineQueueFull }
        entries[oldest]?.isEnding = true
        reserved.insert(id)
        return Self.removal(oldest, .dropped)
    }

    /// Gives back a place, since nothing was written.
    mutating func release(_ id: UUID, dropping dropped: UUID?) {
        reserved.remove(id)
        guard let dropped, let entry = entries[dropped] else { return }
        entries[dropped]?.isEnding = false
        list(entry.tag)
    }

    private func oldestAtRest() -> UUID? {
        entries.filter { $0.value.death == nil && !$0.value.isEnding && !isInFlight($0.key, $0.value) }
            .min { $0.value.order < $1.value.order }?.key
    }

    func isInFlight(_ id: UUID, _ entry: Entry) -> Bool {
        lines[entry.tag]?.inFlight == id
    }

    /// Whether anything waits under that tag.
    func hasPending(tag: String?) -> Bool {
        guard let line = lines[tag] else { return false }
        if let id = line.inFlight, entries[id] != nil { return true }
        return line.ids.contains { id, order in entries[id].map { $0.death == nil && $0.order == order } ?? false }
    }
}
