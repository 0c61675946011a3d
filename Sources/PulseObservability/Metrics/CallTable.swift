// SPDX-License-Identifier: MIT

import PulseCore

/// Values by the ids of calls, while these are under way.
///
/// A dictionary spends more on hashing an id, four times a call, than all else here takes together. Ids are random and
/// made by this side, so that nobody can choose ones that collide: a multiplication spreads them. Open addressing with
/// linear probing, at most half full; a removal moves up what stands behind it.
struct CallTable<Value: Sendable>: Sendable {
    private struct Slot: Sendable {
        let key: CallKey
        var value: Value
    }

    private var slots: [Slot?] = []
    private(set) var count = 0

    subscript(id: UUID) -> Value? {
        count == 0 ? nil : slots[place(of: CallKey(id))]?.value
    }

    /// Sets a value, and returns the one that had this id before.
    mutating func insert(_ value: Value, for id: UUID) -> Value? {
        if (count + 1) * 2 > slots.count { grow() }
        let key = CallKey(id)
        let place = place(of: key)
        let old = slots[place]?.value
        slots[place] = Slot(key: key, value: value)
        if old == nil { count += 1 }
        return old
    }

    mutating func remove(_ id: UUID) -> Value? {
        guard count > 0 else { return nil }
        var gap = place(of: CallKey(id))
        guard let removed = slots[gap]?.value else { return nil }
        count -= 1
        var place = next(gap)
        while let slot = slots[place] {
            // It may stand in the gap unless its search begins behind that.
            let home = home(of: slot.key)
            if (place &- home) & mask >= (place &- gap) & mask {
                slots[gap] = slot
                gap = place
            }
            place = next(place)
        }
        slots[gap] = nil
        // What a rush of calls needed is given back when it is over.
        if count == 0, slots.count > 1024 { slots = [] }
        return removed
    }

    mutating func removeAll() {
        self = CallTable()
    }

    mutating func updateAll(_ body: (inout Value) -> Void) {
        for place in slots.indices where slots[place] != nil {
            if var slot = slots[place] {
                body(&slot.value)
                slots[place] = slot
            }
        }
    }

    private var mask: Int { slots.count - 1 }

    private func next(_ place: Int) -> Int { (place + 1) & mask }

    private func home(of key: CallKey) -> Int {
        Int(truncatingIfNeeded: key.spread >> UInt64(64 - slots.count.trailingZeroBitCount))
    }

    /// The slot where the key is, or would be.
    private func place(of key: CallKey) -> Int {
        var place = home(of: key)
        while let slot = slots[place], slot.key != key { place = next(place) }
        return place
    }

    // Not inlined: rare, and its temporaries would take room in the frame of each event.
    @inline(never)
    private mutating func grow() {
        let old = slots
        slots = [Slot?](repeating: nil, count: max(16, old.count * 2))
        for case let slot? in old { slots[place(of: slot.key)] = slot }
    }
}

/// A call's id as two words.
struct CallKey: Equatable, Sendable {
    private let high: UInt64
    private let low: UInt64

    init(_ id: UUID) {
        (high, low) = withUnsafeBytes(of: id.uuid) { bytes in
            (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }

    /// Its upper bits depend on all of the id's.
    var spread: UInt64 {
        ((high ^ low) ^ (high >> 32)) &* 0x9E37_79B9_7F4A_7C15
    }
}
