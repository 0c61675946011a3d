// SPDX-License-Identifier: MIT

/// How often each of a few things was seen, in the order in which they came: a dictionary would cost more for the one or
/// two that there are as a rule.
struct Tally<Key: Hashable & Sendable>: Sendable {
    private var entries: [(key: Key, count: Int)] = []

    var isEmpty: Bool { entries.isEmpty }

    var dictionary: [Key: Int] {
        Dictionary(entries.map { ($0.key, $0.count) }, uniquingKeysWith: +)
    }

    mutating func add(_ key: Key, _ count: Int = 1) {
        for place in entries.indices where entries[place].key == key {
            entries[place].count += count
            return
        }
        entries.append((key, count))
    }

    mutating func merge(_ other: Tally) {
        for (key, count) in other.entries { add(key, count) }
    }
}
