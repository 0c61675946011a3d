// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The journal of a list of downloads: a record for each download, then one for each change of its phase.
final class DownloadJournal: Sendable {
    struct Entry: Sendable {
        let id: UUID
        let stored: StoredDownload
        let phase: StoredPhase
    }

    /// The records of one download in the file.
    private struct Records: Sendable {
        var download: JournalLocation
        var phase: (location: JournalLocation, note: Data)?
    }

    private struct Contents: Sendable {
        var order: [UUID] = []
        var records: [UUID: Records] = [:]

        mutating func apply(_ change: JournalChange) {
            switch change {
            case .reset(let items):
                self = Contents()
                items.forEach { add($0) }
            case .appended(let items):
                items.forEach { add($0) }
            case .damaged:
                break
            }
        }

        private mutating func add(_ item: JournalItem) {
            switch Operation(byte: item.operation) {
            case .download:
                if records[item.id] == nil { order.append(item.id) }
                records[item.id, default: Records(download: item.location)].download = item.location
            case .phase:
                records[item.id]?.phase = (item.location, item.note)
            case .removed:
                records[item.id] = nil
                order.removeAll { $0 == item.id }
            case nil:
                break
            }
        }

        /// The records that a compaction keeps.
        var live: [JournalContent] {
            order.compactMap { records[$0] }.flatMap { records in
                [.copy(records.download)] + (records.phase.map { [.copy($0.location)] } ?? [])
            }
        }
    }

    private enum Operation: Character {
        case download = "D"
        /// In lower case, so that it is read with the file.
        case phase = "p"
        case removed = "x"

        init?(byte: UInt8) {
            self.init(rawValue: Character(Unicode.Scalar(byte)))
        }
    }

    /// Minimum file size for a compaction in bytes: a smaller file is not worth one.
    private static let smallSize = 64 << 10

    private let directory: URL
    private let journal: FileJournal
    private let lock: FileLock
    private let contents: Locked<Contents>
    /// The size at which the file is compacted next.
    private let limit = Locked(smallSize)
    private let events: (any EventSink)?

    init(_ directory: URL, events: (any EventSink)?) {
        let contents = Locked(Contents())
        journal = FileJournal(directory.appendingPathComponent("downloads", isDirectory: false)) { change in
            contents.withLock { $0.apply(change) }
            if case .damaged(let bytes, _) = change {
                events?.emit(.warning("\(bytes) bytes of a list of downloads were damaged, and were moved beside it"))
            }
        }
        self.directory = directory
        self.contents = contents
        self.events = events
        lock = FileLock(path: directory.appendingPathComponent("owner.lock", isDirectory: false).path)
    }

    /// Locks the list and reads it. Throws ``TransferFailure/busy`` while another list holds the lock.
    func open() async throws -> [Entry] {
        guard try await journal.refresh({ [lock] in try lock.tryAcquire() }) else {
            throw TransferFailure(.busy, file: directory).asPulseError
        }
        do {
            // A full disk must not keep the list closed.
            try? await compact()
            var entries: [Entry] = []
            for id in contents.withLock({ $0.order }) {
                let record = try await journal.read { [contents] in contents.withLock { $0.records[id]?.download } }
                guard let record, let stored = try? StoredDownload(decoding: record.payload) else {
                    events?.emit(.warning("a download in a list is damaged, and stays where it is"))
                    continue
                }
                let note = contents.withLock { $0.records[id]?.phase?.note }
                entries.append(Entry(id: id, stored: stored, phase: StoredPhase(decoding: note ?? Data())))
            }
            return entries
        } catch {
            lock.close()
            throw error
        }
    }

    /// Stores a download, or its new request.
    func append(_ id: UUID, _ download: StoredDownload) async throws {
        try await journal.append([JournalRecord(Operation.download.rawValue, id, payload: try download.encoded())])
        try? await compact()
    }

    /// Stores the phase of a download; nil once it has left the list.
    ///
    /// - Parameter phase: called when all earlier changes are stored.
    func save(_ id: UUID, _ phase: @escaping @Sendable () -> StoredPhase?) async {
        do {
            try await journal.append([]) { [contents] in
                guard contents.withLock({ $0.records[id] != nil }) else { return [] }
                guard let phase = phase() else { return [JournalRecord(Operation.removed.rawValue, id)] }
                return [JournalRecord(Operation.phase.rawValue, id, payload: phase.encoded)]
            }
            try? await compact()
        } catch PulseError.cancelled {
            // The list is closed: the last stored record counts.
        } catch {
            events?.emit(.warning("a change of a download could not be stored: \(PulseError(wrapping: error))"))
        }
    }

    private func compact() async throws {
        guard journal.size > limit.withLock({ $0 }) else { return }
        try await journal.compact { [contents] in contents.withLock { $0.live } }
        limit.withLock { $0 = max(Self.smallSize, 4 * journal.size) }
    }

    /// Closes the file and unlocks it for another list.
    func close() async {
        await journal.close()
        lock.close()
    }
}

extension DownloadJournal.Entry {
    /// The phase of the download after a relaunch.
    ///
    /// - Parameter list: the current path of the list.
    func machinePhase(in list: String) -> DownloadList.StateMachine.Phase {
        switch phase {
        case .underWay: .waiting
        case .paused: .paused
        case .completed(let path, let old):
            .completed(URL(fileURLWithPath: StoredDownload.moved(path, from: old, to: list)))
        case .failed(let reason): .failed(.custom(reason.summary))
        }
    }
}
