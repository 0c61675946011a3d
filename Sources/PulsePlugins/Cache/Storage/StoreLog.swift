// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The store operations in progress, and a bounded record of recent invalidations, stores and other facts about keys.
struct StoreLog: Sendable {
    enum Result {
        case stored
        case notStored
        /// The response to a later request is stored already.
        case overtaken
    }

    private static let capacity = 1_024

    /// Counts invalidations and store operations.
    private(set) var sequence = 0
    /// The last invalidation of each single URL.
    private var invalidated = LRUCache<String, Int>(capacity: capacity)
    /// The last invalidation of more than single URLs, or the last one evicted from `invalidated`.
    private var floor = 0
    /// For each variant, when its response was stored and when that was requested.
    private var stored = LRUCache<Variant, (since: Int, requestTime: Date)>(capacity: capacity)
    /// The keys of the store operations in progress, by number.
    private var pending: [Int: CacheKey] = [:]
    private var waiters: [(numbers: Set<Int>, continuation: CheckedContinuation<Void, Never>)] = []
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

    mutating func invalidate(_ selection: CacheKey.Selection) {
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

    // MARK: Stores

    private struct Variant: Hashable {
        let key: CacheKey
        let selectingFields: [CachedResponse.Head.SelectingField]
    }

    /// Whether the response to a request at this point of the sequence may be stored: there was no invalidation and no
    /// response to a later, equal request since.
    func result(for head: CachedResponse.Head, under key: CacheKey, since start: Int) -> Result {
        guard floor <= start, invalidated.peek(key.url) ?? 0 <= start else { return .notStored }
        let last = stored.peek(Variant(key: key, selectingFields: head.selectingFields))
        return last.map { $0.since > start && $0.requestTime > head.requestTime } == true ? .overtaken : .stored
    }

    /// Begins a store operation, if it is allowed; returns its number for ``end(_:)``.
    mutating func begin(
        _ head: CachedResponse.Head, under key: CacheKey, since start: Int
    ) -> (number: Int?, result: Result) {
        let result = result(for: head, under: key, since: start)
        guard result == .stored else { return (nil, result) }
        sequence += 1
        let note = (since: sequence, requestTime: head.requestTime)
        stored.withValue(for: Variant(key: key, selectingFields: head.selectingFields), default: note) { $0 = note }
        pending[sequence] = key
        return (sequence, result)
    }

    /// Ends a store operation; returns the waiters to resume.
    mutating func end(_ number: Int) -> [CheckedContinuation<Void, Never>] {
        pending[number] = nil
        guard !waiters.isEmpty else { return [] }
        for index in waiters.indices { waiters[index].numbers.remove(number) }
        defer { waiters.removeAll(where: \.numbers.isEmpty) }
        return waiters.filter(\.numbers.isEmpty).map(\.continuation)
    }

    /// Waits for the matching store operations in progress; false if there are none. An invalidation then removes their
    /// entries: otherwise a later call could find an outdated one.
    mutating func wait(
        _ continuation: CheckedContinuation<Void, Never>, where isConcerned: (CacheKey) -> Bool
    ) -> Bool {
        let numbers = Set(pending.filter { isConcerned($0.value) }.keys)
        if !numbers.isEmpty { waiters.append((numbers, continuation)) }
        return !numbers.isEmpty
    }

    /// The number of waiters: for tests.
    var waiterCount: Int { waiters.count }

    // MARK: Other facts

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

extension CacheKey.Selection {
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
