// SPDX-License-Identifier: MIT

import PulseCore

/// Places for names, of which there are never more than a bound: what comes later has place 0, ``SeriesName/other``.
///
/// First come, first kept, until a reset: a name that gave way to another would make its counters jump back.
struct BoundedSlots: Sendable {
    private let maximum: Int
    /// By the name as it came; as many as the bound, so that names that mask to the same text cannot grow it.
    private var places: [String: Int] = [:]
    /// Asked for again as a rule: comparing two texts that are one in memory costs nothing, hashing one does.
    private var last: (name: String, place: Int)?
    /// As they may be shown, by place.
    private(set) var names: [String] = [SeriesName.other]

    /// - Parameter maximum: besides ``SeriesName/other``; a negative one counts as 0.
    init(maximum: Int) {
        self.maximum = max(0, maximum)
    }

    /// The place of a name, which stays the same until a reset.
    mutating func place(of name: String) -> Int {
        if let last, last.name == name { return last.place }
        let place = lookedUp(SeriesName.bounded(name, to: SeriesName.maximumKeyLength))
        last = (name, place)
        return place
    }

    private mutating func lookedUp(_ name: String) -> Int {
        if let place = places[name] { return place }
        guard places.count < maximum else { return 0 }
        let shown = SeriesName.shown(name)
        let place = names.firstIndex(of: shown) ?? names.count
        if place == names.count { names.append(shown) }
        places[name] = place
        return place
    }

    /// Forgets all names but those in some places; gives the new place of each of these.
    mutating func reset(keeping kept: Set<Int>) -> [Int: Int] {
        let old = self
        self = BoundedSlots(maximum: maximum)
        var moved = [0: 0]
        for place in kept.sorted() where place > 0 {
            moved[place] = names.count
            names.append(old.names[place])
        }
        for (name, place) in old.places where kept.contains(place) { places[name] = moved[place] }
        return moved
    }
}
