// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// What the cache remembers of its keys besides what is stored. A bounded value.
struct InvalidationLog: Sendable {
    private static let capacity = 1_024

    /// Counts invalidations and what is stored.
    private(set) var sequence = 0
    /// The last invalidation of single URLs.
    private var invalidated = LRUCache<String, Int>(capacity: capacity)
    /// The last invalidation that concerned more than single URLs, or that has been forgotten.
    private var floor = 0
    /// For each variant, since when its stored answer is there and when that was asked for.
    private var stored = LRUCache<Variant, (since: Int, requestTime: Date)>(capacity: capacity)
    private var unshareable = LRUCache<CacheKey, Bool>(capacity: capacity)
    private var warned = LRUCache<String, Bool>(capacity: 64)
    var hasWarnedOfFailure = false
    /// The sink of the client that used the cache last.
    private(set) weak var events: (any EventSink)?
    private var eventsID: ObjectIdentifier?

    /// Every call tells its sink; the weak reference is written only when it changes.
    mutating func note(_ sink: any EventSink) {
        guard eventsID != ObjectIdentifier(sink) || events == nil else { return }
        eventsID = ObjectIdentifier(sink)
        events = sink
    }

    mutating func invalidate(_ selection: CacheSelection) {
        sequence += 1
        let url: String
        switch selection {
        case .url(let selected): url = selected
        case .key(let key): url = key.url
        case .prefix, .tag, .partition, .all:
            floor = sequence
            return
        }
        let isKnown = invalidated.peek(url) != nil
        if !isKnown, invalidated.count >= Self.capacity, let oldest = invalidated.removeLeastRecentlyUsed() {
            floor = max(floor, oldest.value)
        }
        invalidated.withValue(for: url, default: sequence) { [sequence] in $0 = sequence }
    }

    /// Whether an answer that was asked for at that point of the sequence has become invalid since.
    func isOvertaken(_ url: String, since start: Int) -> Bool {
        floor > start || (invalidated.peek(url) ?? 0) > start
    }

    private struct Variant: Hashable {
        let key: CacheKey
        let selectingFields: [CachedHead.SelectingField]
    }

    mutating func noteStored(_ head: CachedHead, under key: CacheKey) {
        sequence += 1
        let note = (since: sequence, requestTime: head.requestTime)
        stored.withValue(for: Variant(key: key, selectingFields: head.selectingFields), default: note) { $0 = note }
    }

    /// Whether an answer to the same request that was asked for later has been stored since.
    func hasNewer(_ head: CachedHead, under key: CacheKey, since start: Int) -> Bool {
        stored.peek(Variant(key: key, selectingFields: head.selectingFields))
            .map { $0.since > start && $0.requestTime > head.requestTime } ?? false
    }

    func isUnshareable(_ key: CacheKey) -> Bool {
        unshareable.count > 0 && unshareable.peek(key) != nil
    }

    mutating func note(_ key: CacheKey, isShareable: Bool) {
        if isShareable {
            if unshareable.count > 0 { unshareable.removeValue(for: key) }
        } else {
            unshareable.withValue(for: key, default: true) { _ in }
        }
    }

    mutating func isFirstWarning(about header: String) -> Bool {
        let name = header.asciiLowercased
        guard warned.peek(name) == nil else { return false }
        warned.withValue(for: name, default: true) { _ in }
        return true
    }
}

extension CacheSelection {
    /// Whether an answer under that key may be among the selected; tags are not known of what is under way.
    func mayConcern(_ key: CacheKey) -> Bool {
        switch self {
        case .key(let selected): selected == key
        case .url(let url): url == key.url
        case .prefix(let prefix): key.url.hasPrefix(prefix)
        case .partition(let partition): key.partition == partition
        case .tag, .all: true
        }
    }
}
