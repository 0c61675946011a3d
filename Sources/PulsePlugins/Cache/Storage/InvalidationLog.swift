// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The bounded record of recent invalidations, stores and other facts about keys.
struct InvalidationLog: Sendable {
    private static let capacity = 1_024

    /// Counts invalidations and stores.
    private(set) var sequence = 0
    /// The last invalidation of each single URL.
    private var invalidated = LRUCache<String, Int>(capacity: capacity)
    /// The last invalidation of more than single URLs, or the last one evicted from `invalidated`.
    private var floor = 0
    /// For each variant, when its response was stored and when that was requested.
    private var stored = LRUCache<Variant, (since: Int, requestTime: Date)>(capacity: capacity)
    private var unshareable = LRUCache<CacheKey, Bool>(capacity: capacity)
    private var warned = LRUCache<String, Bool>(capacity: 64)
    var hasWarnedOfFailure = false
    /// The sink of the client that used the cache last.
    private(set) weak var events: (any EventSink)?
    private var eventsID: ObjectIdentifier?

    /// Every call reports its sink. The weak reference is written only when it changes.
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

    /// Whether a response requested at this point of the sequence has been invalidated since.
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

    /// Whether the response to a later, equal request has been stored since.
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
    /// Whether the selection may include a response under this key. The tags of responses in flight are unknown.
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
