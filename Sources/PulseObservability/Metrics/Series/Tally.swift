// SPDX-License-Identifier: MIT

/// Counts of a few things in the order in which they came: a dictionary would cost more for the usual one or two.
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
