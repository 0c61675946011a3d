// SPDX-License-Identifier: MIT

import PulseCore

/// The index of the files on disk, as far as this process knows, in the order of their last use. A value; every step
/// takes constant time, except ``successor(of:)`` and ``apply(_:slots:)``, which run outside the lock.
struct DiskCacheIndex: Sendable {
    /// The responses of one key, which are used and evicted together.
    struct Entry: Sendable {
        /// Whether this process has already updated the file's time of last use.
        var isTouched = false
        /// The bytes of the slots. Most keys have only one: an array for each would cost more than everything else.
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

    /// A file that a scan has found in the folder.
    struct Found: Sendable {
        let name: DiskName
        let slot: Int
        let size: Int
        /// Seconds since 1970.
        let used: TimeInterval
    }

    /// The changes since a scan of the folder began, which the scan may have missed.
    struct ScanChanges: Sendable {
        /// True for an entry last written, false for one last removed.
        fileprivate(set) var changed: [DiskName: Bool] = [:]
        fileprivate var used = LRUCache<DiskName, Bool>(capacity: .max)
    }

    let maxBytes: Int
    let maxEntries: Int
    private(set) var changesDuringScan: ScanChanges?
    private var entries = LRUCache<DiskName, Entry>(capacity: .max)
    private(set) var bytes = 0
    private(set) var count = 0
    /// The bytes written since the last scan.
    private var writtenBytes = 0
    private var writtenCount = 0
    private(set) var isKnown = false
    /// Whether the last scan has failed: the next one waits until more was written.
    private var hasFailed = false

    init(maxBytes: Int, maxEntries: Int) {
        self.maxBytes = maxBytes
        self.maxEntries = maxEntries
    }

    var usage: CacheUsage { CacheUsage(entries: count, bytes: bytes) }

    /// Whether a scan is due: other processes may have written as much as this one. Scans are so rare that each written
    /// file costs the scan of a few others at most.
    var isOutdated: Bool {
        !isKnown && !hasFailed || writtenCount >= max(1_000, count) || writtenBytes >= max(1 << 20, maxBytes / 4)
    }

    /// Records a use. Returns true if the file's time of last use needs an update, for later processes.
    mutating func use(_ name: DiskName) -> Bool {
        changesDuringScan?.used.withValue(for: name, default: true) { _ in }
        return entries.withValue(for: name) { entry in
            defer { entry.isTouched = true }
            return !entry.isTouched
        } ?? true
    }

    /// Records a file that was written, and returns the names to evict for it.
    mutating func add(_ name: DiskName, slot: Int, size: Int) -> [DiskName] {
        writtenBytes += size
        writtenCount += 1
        changesDuringScan?.changed[name] = true
        put(name, slot: slot, size: size)
        return evict()
    }

    mutating func remove(_ name: DiskName) {
        changesDuringScan?.changed[name] = false
        guard let entry = entries.removeValue(for: name) else { return }
        bytes -= entry.bytes
        count -= entry.count
    }

    func contains(_ name: DiskName) -> Bool { entries.peek(name) != nil }

    // MARK: Scanning the folder

    /// Begins a scan. From here on changes are recorded, until the index is replaced.
    mutating func beginScan() {
        changesDuringScan = ScanChanges()
        (writtenBytes, writtenCount) = (0, 0)
    }

    /// Ends a scan that has failed. The known entries stay.
    mutating func failScan() {
        changesDuringScan = nil
        hasFailed = true
    }

    /// An index of the files found on disk, the least recently used first.
    func successor(of found: [Found]) -> DiskCacheIndex {
        var next = DiskCacheIndex(maxBytes: maxBytes, maxEntries: maxEntries)
        for file in found { next.put(file.name, slot: file.slot, size: file.size) }
        // Entries that this process has used come last, in its own order, which is more exact than that of the files.
        var known = entries
        while let oldest = known.removeLeastRecentlyUsed() {
            next.recordUse(of: oldest.key, isTouched: oldest.value.isTouched)
        }
        next.isKnown = true
        return next
    }

    /// Applies the changes that were made during the scan, and returns the names to evict.
    ///
    /// - Parameter slots: returns the sizes of a name's files, by slot.
    mutating func apply(_ changes: ScanChanges, slots: (DiskName) -> [Int]) -> [DiskName] {
        for (name, isThere) in changes.changed {
            remove(name)
            guard isThere else { continue }
            for (slot, size) in slots(name).enumerated() {
                writtenBytes += size
                put(name, slot: slot, size: size)
            }
            writtenCount += 1
        }
        var used = changes.used
        while let oldest = used.removeLeastRecentlyUsed() { recordUse(of: oldest.key, isTouched: true) }
        return evict()
    }

    private mutating func recordUse(of name: DiskName, isTouched: Bool) {
        _ = entries.withValue(for: name) { $0.isTouched = isTouched }
    }

    private mutating func put(_ name: DiskName, slot: Int, size: Int) {
        var change = (bytes: 0, count: 0)
        entries.withValue(for: name, default: Entry()) { entry in
            let before = (entry.bytes, entry.count)
            // Files that another process wrote in between are counted by the next scan.
            entry.set(slot, to: size)
            change = (entry.bytes - before.0, entry.count - before.1)
        }
        bytes += change.bytes
        count += change.count
    }

    private mutating func evict() -> [DiskName] {
        var evicted: [DiskName] = []
        while bytes > maxBytes || count > maxEntries, let oldest = entries.removeLeastRecentlyUsed() {
            changesDuringScan?.changed[oldest.key] = false
            bytes -= oldest.value.bytes
            count -= oldest.value.count
            evicted.append(oldest.key)
        }
        return evicted
    }
}
