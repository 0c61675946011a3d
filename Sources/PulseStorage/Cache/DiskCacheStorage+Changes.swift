// SPDX-License-Identifier: MIT

import PulseCore

// All of this runs on the queue for changes.
extension DiskCacheStorage {
    /// Moves a completed file into its slot, and evicts other entries if necessary. Returns false if it is too large.
    func finish(_ file: TemporaryDiskFile, _ head: CachedResponse.Head, _ key: CacheKey, _ name: DiskName) throws
        -> Bool
    {
        let size = try file.finish(name.onDisk(key), head)
        guard size <= maxEntrySize else {
            try removeVariantNow(head, name)
            return false
        }
        var (slot, others) = try slot(for: head, name)
        if others + size > maxEntrySize {
            // The variants of one key share the limit of a single response: otherwise they would evict all other
            // entries.
            index.withLock { $0.remove(name) }
            try folder.remove(name)
            slot = 0
        }
        try file.place(as: name, slot)
        let evicted = index.withLock { $0.add(name, slot: slot, size: size) }
        for name in evicted { _ = try? folder.remove(name) }
        if index.withLock({ $0.isOutdated }) { startScan() }
        return !evicted.contains(name)
    }

    /// The slot of the response with the same selecting fields, otherwise the first free one, otherwise the oldest; and
    /// the bytes of all other slots.
    private func slot(for head: CachedResponse.Head, _ name: DiskName) throws -> (slot: Int, others: Int) {
        var (own, free, oldest) = (Int?.none, Int?.none, (slot: 0, time: Date.distantFuture))
        var sizes = [Int](repeating: 0, count: DiskName.slotCount)
        for slot in 0..<maxVariants where free == nil {
            switch folder.read(name, slot) {
            case .empty, .damaged:
                free = slot
            case .unreadable(let failure):
                // It may be the response to replace.
                throw failure
            case .response(let record, let file):
                sizes[slot] = file.size
                if record.head.selectingFields == head.selectingFields { own = own ?? slot }
                if record.head.responseTime < oldest.time { oldest = (slot, record.head.responseTime) }
            }
        }
        let slot = own ?? free ?? oldest.slot
        sizes[slot] = 0
        return (slot, sizes.reduce(0, +))
    }

    /// Removes the responses of a key if `head` would have replaced one of them.
    func removeVariant(_ head: CachedResponse.Head, _ name: DiskName) async throws {
        try await change(removing: .entry(name)) { [self] in try removeVariantNow(head, name) }
    }

    private func removeVariantNow(_ head: CachedResponse.Head, _ name: DiskName) throws {
        for slot in 0..<DiskName.slotCount {
            switch folder.read(name, slot) {
            case .empty, .damaged: return
            case .response(let record, _) where record.head.selectingFields != head.selectingFields: continue
            // A response that is currently unreadable might match.
            case .response, .unreadable: break
            }
            index.withLock { $0.remove(name) }
            try folder.remove(name)
            return
        }
    }

    // MARK: Selections

    /// Removes files from the folder, including those of other processes. Throws the first failure, after everything
    /// else is removed.
    func removeAll(_ selection: CacheKey.Selection) throws -> Int {
        var count = 0
        var failure: (any Error)?
        switch selection {
        case .all, .partition:
            // A killed process may have left a part of a response, whose owner is unknown.
            do {
                try TemporaryDiskFile.removeLeftovers(in: folder)
                try folder.removeEarlierVersions()
            } catch let error {
                failure = error
            }
        case .url, .key, .prefix, .tag: break
        }
        for partition in try partitions(of: selection) {
            var names: Set<DiskName> = []
            do {
                try folder.forEachFile(of: partition, inShard: shard(of: selection)) { name, slot, _ in
                    if isSelected(name, slot, by: selection) { names.insert(name) }
                }
            } catch let error {
                // The folder's content is unknown: the caller must not believe that it was removed.
                failure = failure ?? error
            }
            for name in names {
                index.withLock { $0.remove(name) }
                do {
                    count += try folder.remove(name)
                } catch let error {
                    failure = failure ?? error
                }
            }
            // Not for a single URL: that removal is frequent, and there are many folders to try.
            if shard(of: selection) == nil { folder.removeEmptyFolders(of: partition) }
        }
        if let failure { throw failure }
        return count
    }

    private func partitions(of selection: CacheKey.Selection) throws -> [DiskName.Half] {
        if case .partition(let name) = selection { return DiskName.Half(of: name).map { [$0] } ?? [] }
        return try folder.partitions()
    }

    private func shard(of selection: CacheKey.Selection) -> String? {
        guard case .url(let url) = selection else { return nil }
        return DiskName.Half(of: url).map { DiskName.shard(of: $0) }
    }

    private func isSelected(_ name: DiskName, _ slot: Int, by selection: CacheKey.Selection) -> Bool {
        switch selection {
        case .all, .partition: return true
        case .url(let url): return DiskName.Half(of: url) == name.url
        case .key(let key): return DiskName(key) == name
        case .prefix, .tag: break
        }
        // The file itself decides. A file that cannot be read might be selected.
        guard case .response(let record, _) = folder.read(name, slot) else { return true }
        switch selection {
        case .prefix(let prefix): return record.key.url.hasPrefix(prefix)
        case .tag(let tag): return record.head.tags.contains(tag)
        case .all, .partition, .url, .key: return true
        }
    }
}

/// Writes a body chunk by chunk.
final class DiskCacheWriter: CachedResponse.Writer {
    private let store: DiskCacheStorage
    private let key: CacheKey
    private let name: DiskName
    private let temporaryFile = Locked<TemporaryDiskFile?>(nil)
    private let hasEnded = Locked(false)

    init(_ store: DiskCacheStorage, _ key: CacheKey, _ name: DiskName) {
        self.store = store
        self.key = key
        self.name = name
    }

    func write(_ chunk: Data) async throws -> Bool {
        try await store.change { [self] in
            guard let file = try file(), file.count + chunk.count <= store.maxEntrySize else {
                discard()
                return false
            }
            do {
                try chunk.withUnsafeBytes { try file.write($0) }
            } catch {
                // The file is useless now, but a full disk needs its space.
                discard()
                throw error
            }
            return true
        }
    }

    func commit(_ head: CachedResponse.Head) async throws -> Bool {
        try await store.change { [self] in
            guard let file = try file() else { return false }
            defer { discard() }
            return try store.finish(file, head, key, name)
        }
    }

    func discard() {
        hasEnded.withLock { $0 = true }
        // The file is closed outside the lock.
        let file = temporaryFile.withLock { temporaryFile in
            defer { temporaryFile = nil }
            return temporaryFile
        }
        withExtendedLifetime(file) {}
    }

    /// The file, created with the first chunk, or by the commit of an empty body.
    private func file() throws -> TemporaryDiskFile? {
        guard !hasEnded.withLock({ $0 }) else { return nil }
        if let known = temporaryFile.withLock({ $0 }) { return known }
        let made = try TemporaryDiskFile(in: store.folder)
        temporaryFile.withLock { $0 = made }
        return made
    }
}
