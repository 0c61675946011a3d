// SPDX-License-Identifier: MIT

import PulseCore

/// The ids of recently dropped calls, so that a late event does not bring a call back as a new one.
struct DroppedCalls: Sendable {
    /// Takes some 200 KB. A call that waits while more calls than this are dropped counts as a new one.
    static let maxCount = 4096

    private var ids: Set<UUID> = []
    private var ring: [UUID] = []
    private var oldest = 0

    func contains(_ id: UUID) -> Bool {
        ids.contains(id)
    }

    mutating func insert(_ id: UUID) {
        guard ids.insert(id).inserted else { return }
        guard ring.count == Self.maxCount else { return ring.append(id) }
        ids.remove(ring[oldest])
        ring[oldest] = id
        oldest = (oldest + 1) % Self.maxCount
    }
}
