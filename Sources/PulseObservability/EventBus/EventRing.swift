// SPDX-License-Identifier: MIT

import PulseCore

/// The newest events up to a capacity, first in, first out. Its storage grows with its contents.
struct EventRing: Sendable {
    private let capacity: Int
    private var slots: [NetworkEvent?] = []
    private var head = 0
    private(set) var count = 0

    /// - Parameter capacity: less than 1 counts as 1.
    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    /// Appends an event; returns false if the oldest event was dropped for it.
    mutating func append(_ event: NetworkEvent) -> Bool {
        guard count < capacity else {
            slots[head] = event
            head = next(head)
            return false
        }
        if count == slots.count { grow() }
        let end = head + count
        slots[end < slots.count ? end : end - slots.count] = event
        count += 1
        return true
    }

    mutating func popFirst() -> NetworkEvent? {
        guard count > 0 else { return nil }
        let event = slots[head]
        slots[head] = nil
        head = next(head)
        count -= 1
        return event
    }

    private func next(_ index: Int) -> Int {
        index + 1 < slots.count ? index + 1 : 0
    }

    private mutating func grow() {
        let (doubled, overflows) = slots.count.multipliedReportingOverflow(by: 2)
        let size = overflows ? capacity : min(capacity, max(16, doubled))
        slots = Array(slots[head...] + slots[..<head]) + repeatElement(nil, count: size - slots.count)
        head = 0
    }
}
