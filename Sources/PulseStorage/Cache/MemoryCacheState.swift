// SPDX-License-Identifier: MIT

import PulseCore

/// The content of a ``MemoryCacheStorage``. A value; lookup, storing and removal by key or URL take constant time.
struct MemoryCacheState: Sendable {
    /// The responses of one key, which are used and evicted together.
    private struct Slot: Sendable {
        var responses: [CachedResponse] = []
        var bytes = 0
    }

    /// The largest number of variants of a key, such as languages of one URL. A further variant replaces the oldest.
    private static let maxVariants = 8

    let maxBytes: Int
    let maxEntries: Int
    private var slots = LRUCache<CacheKey, Slot>(capacity: .max)
    /// The keys of each URL: the response to an unsafe request invalidates those of all partitions.
    private var keys: [String: Set<CacheKey>] = [:]
    private var evicted: [CachedResponse] = []
    private(set) var bytes = 0
    private(set) var entries = 0

    init(maxBytes: Int, maxEntries: Int) {
        self.maxBytes = maxBytes
        self.maxEntries = maxEntries
    }

    var maxEntrySize: Int { maxBytes / 4 }

    var usage: CacheUsage { CacheUsage(entries: entries, bytes: bytes) }

    mutating func responses(for key: CacheKey) -> [CachedResponse] {
        slots.withValue(for: key) { $0.responses } ?? []
    }

    /// Stores a response; returns false if it is too large.
    mutating func put(_ response: CachedResponse, for key: CacheKey) -> Bool {
        let size = Self.size(of: response, for: key)
        guard size <= maxEntrySize, maxEntries > 0 else {
            removeVariant(like: response.head, for: key)
            return false
        }
        var change = (bytes: 0, entries: 0)
        var replaced: [CachedResponse] = []
        let (limit, most) = (maxEntrySize, maxEntries)
        slots.withValue(for: key, default: Slot()) { slot in
            let before = (slot.bytes, slot.responses.count)
            if let known = slot.responses.firstIndex(where: { $0.head.selectingFields == response.head.selectingFields }
            ) {
                replaced.append(slot.responses.remove(at: known))
            } else if slot.responses.count >= Self.maxVariants {
                replaced.append(slot.responses.removeFirst())
            }
            for response in replaced { slot.bytes -= Self.size(of: response, for: key) }
            slot.responses.append(response)
            slot.bytes += size
            // The variants of one key share the limits of a single response and of the whole cache: otherwise they
            // would evict all other entries, or each other.
            while slot.bytes > limit || slot.responses.count > most, slot.responses.count > 1 {
                let oldest = slot.responses.removeFirst()
                slot.bytes -= Self.size(of: oldest, for: key)
                replaced.append(oldest)
            }
            change = (slot.bytes - before.0, slot.responses.count - before.1)
        }
        keys[key.url, default: []].insert(key)
        evicted += replaced
        bytes += change.bytes
        entries += change.entries
        evictIfNeeded()
        return slots.peek(key) != nil
    }

    /// Returns the responses removed since the last call, for the caller to free.
    mutating func takeEvicted() -> [CachedResponse] {
        defer { evicted = [] }
        return evicted
    }

    mutating func remove(_ selection: CacheKey.Selection) -> [CachedResponse] {
        switch selection {
        case .key(let key): remove(key)
        case .url(let url): (keys[url] ?? []).forEach { remove($0) }
        case .prefix(let prefix): removeAll { key, _ in key.url.hasPrefix(prefix) }
        case .partition(let partition): removeAll { key, _ in key.partition == partition }
        case .all: removeAll { _, _ in true }
        case .tag(let tag):
            removeAll { _, slot in slot.responses.contains { $0.head.tags.contains(tag) } }
        }
        return takeEvicted()
    }

    // MARK: Eviction

    private mutating func evictIfNeeded() {
        while bytes > maxBytes || entries > maxEntries, let oldest = slots.removeLeastRecentlyUsed() {
            discard(oldest.key, oldest.value)
        }
    }

    private mutating func remove(_ key: CacheKey) {
        if let slot = slots.removeValue(for: key) { discard(key, slot) }
    }

    private mutating func removeAll(where isUnwanted: (CacheKey, Slot) -> Bool) {
        for key in Array(slots.keys) {
            if let slot = slots.peek(key), isUnwanted(key, slot) { remove(key) }
        }
    }

    private mutating func removeVariant(like head: CachedResponse.Head, for key: CacheKey) {
        let rest = slots.peek(key)?.responses.filter { $0.head.selectingFields != head.selectingFields } ?? []
        remove(key)
        for response in rest { _ = put(response, for: key) }
    }

    private mutating func discard(_ key: CacheKey, _ slot: Slot) {
        bytes -= slot.bytes
        entries -= slot.responses.count
        evicted += slot.responses
        keys[key.url]?.remove(key)
        if keys[key.url]?.isEmpty == true { keys[key.url] = nil }
    }

    /// The bytes of body and head, and an allowance for Swift's overhead.
    private static func size(of response: CachedResponse, for key: CacheKey) -> Int {
        let allowance = 256
        let keyBytes = key.url.utf8.count + key.partition.utf8.count + (key.bodyDigest?.utf8.count ?? 0)
        let head = response.head
        return response.body.count + allowance + keyBytes
            + head.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
            + head.selectingFields.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.utf8.count ?? 0) + 32 }
            + head.tags.reduce(0) { $0 + $1.utf8.count + 32 }
            + (head.parts?.ranges.count ?? 0) * MemoryLayout<Range<Int>>.size
    }
}
