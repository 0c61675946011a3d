// SPDX-License-Identifier: MIT

/// Counts of a few keys in the order of their first use. A dictionary would cost more for the usual one or two.
struct Tally<Key: Hashable & Sendable>: Sendable {
    private var entries: [(key: Key, count: Int)] = []

    var isEmpty: Bool { entries.isEmpty }

    var dictionary: [Key: Int] {
        Dictionary(entries.map { ($0.key, $0.count) }, uniquingKeysWith: +)
    }

    mutating func add(_ key: Key, _ count: Int = 1) {
        for index in entries.indices where entries[index].key == key {
            entries[index].count += count
            return
        }
        entries.append((key, count))
    }

    mutating func merge(_ other: Tally) {
        for (key, count) in other.entries { add(key, count) }
    }
}
