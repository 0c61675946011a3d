// SPDX-License-Identifier: MIT

import PulseCore

// How a store learns what lay in its folder before it, and what other processes have put there. No call waits for that:
// the folder is read on threads beside those that work for calls, and what they change meanwhile is taken into account
// at the end.
extension DiskCacheStorage {
    /// The number of names that are removed in one piece of work, so that calls get their turn between two.
    private static let batchSize = 64

    /// Looks through the folder, so that what was there before this process is counted, and removed in its turn.
    ///
    /// - Parameter waiter: resumed at the end of the look that is under way, or at once if what it asks for is known.
    func lookThroughSoon(for waiter: CheckedContinuation<Void, Never>? = nil) {
        let (begins, isOver) = look.withLock { look in
            // Asked again: a look may have ended since.
            if waiter != nil, ledger.withLock({ $0.isKnown }) { return (false, true) }
            if let waiter { look.waiters.append(waiter) }
            defer { look.isUnderWay = true }
            return (!look.isUnderWay, false)
        }
        if isOver { waiter?.resume() }
        guard begins else { return }
        ledger.withLock { $0.beginLook() }
        DiskScan.begin(folder) { [self] result in
            guard let found = try? result.get() else {
                ledger.withLock { $0.endLook() }
                return endLook()
            }
            // Built here, since that takes a while; the next change of the ledger pays for a copy.
            let next = ledger.withLock { $0 }.successor(of: found)
            changes.begin { self.replaceLedger(by: next) }
        }
    }

    /// Runs on the lane for changes: nothing is written or removed meanwhile.
    private func replaceLedger(by next: DiskCacheIndex) {
        var next = next
        let meanwhile = ledger.withLock { $0.meanwhile } ?? DiskCacheIndex.Meanwhile()
        let leaving = next.catchUp(with: meanwhile) { folder.sizes(of: $0) }
        // What is replaced goes outside the lock.
        ledger.withLock { swap(&$0, &next) }
        remove(leaving[...])
    }

    private func remove(_ leaving: ArraySlice<DiskName>) {
        for name in leaving.prefix(Self.batchSize) where !ledger.withLock({ $0.holds(name) }) {
            _ = try? folder.remove(name)
        }
        let rest = leaving.dropFirst(Self.batchSize)
        guard !rest.isEmpty else { return endLook() }
        changes.begin { self.remove(rest) }
    }

    private func endLook() {
        let waiters = look.withLock { look in
            defer { look = Look() }
            return look.waiters
        }
        waiters.forEach { $0.resume() }
    }
}
