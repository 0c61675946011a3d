// SPDX-License-Identifier: MIT

import PulseCore

/// The record of how much lies on disk, as far as this process knows, and of what goes first for want of room. A value;
/// every step takes constant time, apart from ``successor(of:)``, which needs no lock.
struct DiskCacheIndex: Sendable {
    /// The answers of one key, which are used and let go together.
    struct Entry: Sendable {
        /// Whether its file already tells that this process uses it.
        var isMarked = false
        /// The bytes of the slots. Most keys have only one: an array for each would cost more than all else.
        private var first: Int?
        private var others: [Int] = []

        var bytes: Int { others.reduce(first ?? 0, +) }
        var count: Int { first == nil ? 0 : 1 + others.count }

        mutating func set(_ slot: Int, to size: Int) {
            guard slot > 0 else { return first = size }
            first = first ?? 0
            while others.count < slot { others.append(0) }
            others[slot - 1] = size
        }
    }

    /// A file that lies in the folder.
    struct Found: Sendable {
        let name: DiskName
        let slot: Int
        let size: Int
        /// Seconds since 1970.
        let used: TimeInterval
    }

    /// What has happened since a look through the folder began, which may have passed by there before.
    struct Meanwhile: Sendable {
        /// True for what was written last, false for what was removed.
        fileprivate(set) var changed: [DiskName: Bool] = [:]
        fileprivate var used = LRUCache<DiskName, Bool>(capacity: .max)
    }

    let maximumBytes: Int
    let maximumEntries: Int
    private(set) var meanwhile: Meanwhile?
    private var entries = LRUCache<DiskName, Entry>(capacity: .max)
    private(set) var bytes = 0
    private(set) var count = 0
    /// The bytes written since the folder was last looked through.
    private var writtenBytes = 0
    private var writtenCount = 0
    private(set) var isKnown = false
    /// Whether the last look has failed: the next one waits until more was written.
    private var hasFailed = false

    init(maximumBytes: Int, maximumEntries: Int) {
        self.maximumBytes = maximumBytes
        self.maximumEntries = maximumEntries
    }

    var usage: CacheUsage { CacheUsage(entries: count, bytes: bytes) }

    /// Whether it is time to look through the folder: other processes may have written as much as this one. Rare enough
    /// that each written file pays for a few others at most.
    var isOutdated: Bool {
        !isKnown && !hasFailed || writtenCount >= max(1_000, count) || writtenBytes >= max(1 << 20, maximumBytes / 4)
    }

    /// Notes a use. True if the file should tell of it, for the processes to come.
    mutating func use(_ name: DiskName) -> Bool {
        meanwhile?.used.withValue(for: name, default: true) { _ in }
        return entries.withValue(for: name) { entry in
            defer { entry.isMarked = true }
            return !entry.isMarked
        } ?? true
    }

    /// Notes a file that was written, and returns the names of those to remove for it.
    mutating func add(_ name: DiskName, slot: Int, size: Int) -> [DiskName] {
        writtenBytes += size
        writtenCount += 1
        meanwhile?.changed[name] = true
        put(name, slot: slot, size: size)
        return makeRoom()
    }

    mutating func remove(_ name: DiskName) {
        meanwhile?.changed[name] = false
        guard let entry = entries.removeValue(for: name) else { return }
        bytes -= entry.bytes
        count -= entry.count
    }

    func holds(_ name: DiskName) -> Bool { entries.peek(name) != nil }

    // MARK: Looking through the folder

    /// Begins a look: from here on changes are noted, until the ledger is replaced.
    mutating func beginLook() {
        meanwhile = Meanwhile()
        (writtenBytes, writtenCount) = (0, 0)
    }

    /// Ends a look that has failed: what is known stays.
    mutating func endLook() {
        meanwhile = nil
        hasFailed = true
    }

    /// A ledger of what was found on disk, the least recently used first.
    func successor(of found: [Found]) -> DiskCacheIndex {
        var next = DiskCacheIndex(maximumBytes: maximumBytes, maximumEntries: maximumEntries)
        for file in found { next.put(file.name, slot: file.slot, size: file.size) }
        // What this process has used comes last, in its own order, which is more exact than that of the files.
        var known = entries
        while let oldest = known.removeLeastRecentlyUsed() {
            next.keepUse(of: oldest.key, isMarked: oldest.value.isMarked)
        }
        next.isKnown = true
        return next
    }

    /// Applies what happened while the folder was looked through, and returns what must go.
    ///
    /// - Parameter slots: sizes of the files of a name that was written, by slot.
    mutating func catchUp(with meanwhile: Meanwhile, slots: (DiskName) -> [Int]) -> [DiskName] {
        for (name, isThere) in meanwhile.changed {
            remove(name)
            guard isThere else { continue }
            for (slot, size) in slots(name).enumerated() {
                writtenBytes += size
                put(name, slot: slot, size: size)
            }
            writtenCount += 1
        }
        var used = meanwhile.used
        while let oldest = used.removeLeastRecentlyUsed() { keepUse(of: oldest.key, isMarked: true) }
        return makeRoom()
    }

    private mutating func keepUse(of name: DiskName, isMarked: Bool) {
        _ = entries.withValue(for: name) { $0.isMarked = isMarked }
    }

    private mutating func put(_ name: DiskName, slot: Int, size: Int) {
        var change = (bytes: 0, count: 0)
        entries.withValue(for: name, default: Entry()) { entry in
            let before = (entry.bytes, entry.count)
            // What another process wrote in between is counted when the folder is looked through.
            entry.set(slot, to: size)
            change = (entry.bytes - before.0, entry.count - before.1)
        }
        bytes += change.bytes
        count += change.count
    }

    private mutating func makeRoom() -> [DiskName] {
        var leaving: [DiskName] = []
        while bytes > maximumBytes || count > maximumEntries, let oldest = entries.removeLeastRecentlyUsed() {
            meanwhile?.changed[oldest.key] = false
            bytes -= oldest.value.bytes
            count -= oldest.value.count
            leaving.append(oldest.key)
        }
        return leaving
    }
}
