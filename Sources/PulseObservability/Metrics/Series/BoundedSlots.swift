// SPDX-License-Identifier: MIT

import PulseCore

/// Slots for a bounded number of names: later names get slot 0, ``SeriesName/other``.
///
/// Names keep their slot until a reset. A name that replaced another would make its counters jump back.
struct BoundedSlots: Sendable {
    private let maximum: Int
    /// By the original name. The bound applies to this map, so that names with equal masks cannot grow it.
    private var slots: [String: Int] = [:]
    /// The last lookup, which is usually repeated. Comparing two strings with the same storage is free, hashing is not.
    private var last: (name: String, slot: Int)?
    /// The displayable names, by slot.
    private(set) var names: [String] = [SeriesName.other]

    /// - Parameter maximum: the number besides ``SeriesName/other``; a negative one counts as 0.
    init(maximum: Int) {
        self.maximum = max(0, maximum)
    }

    /// The slot of a name, which stays the same until a reset.
    mutating func slot(of name: String) -> Int {
        if let last, last.name == name { return last.slot }
        let slot = lookUp(SeriesName.bounded(name, to: SeriesName.maxKeyLength))
        last = (name, slot)
        return slot
    }

    private mutating func lookUp(_ name: String) -> Int {
        if let slot = slots[name] { return slot }
        guard slots.count < maximum else { return 0 }
        let shown = SeriesName.shown(name)
        let slot = names.firstIndex(of: shown) ?? names.count
        if slot == names.count { names.append(shown) }
        slots[name] = slot
        return slot
    }

    /// Removes all names except those in some slots. Returns the new slot of each of these.
    mutating func reset(keeping kept: Set<Int>) -> [Int: Int] {
        let old = self
        self = BoundedSlots(maximum: maximum)
        var moved = [0: 0]
        for slot in kept.sorted() where slot > 0 {
            moved[slot] = names.count
            names.append(old.names[slot])
        }
        for (name, slot) in old.slots where kept.contains(slot) { slots[name] = moved[slot] }
        return moved
    }
}
