// SPDX-License-Identifier: MIT

import PulseCore

// A scan finds the files that earlier processes left, and those that other processes have written. No call waits for
// it: it runs on its own threads, and changes during the scan are applied at its end.
extension DiskCacheStorage {
    /// The number of names that are removed in one job, so that calls can run between two jobs.
    private static let batchSize = 64

    /// Starts a scan of the folder, so that files from before this process are counted and can be evicted.
    ///
    /// - Parameter waiter: resumed at the end of the current scan, or at once if the folder's content is known.
    func startScan(for waiter: CheckedContinuation<Void, Never>? = nil) {
        let (begins, isOver) = scan.withLock { scan in
            // Checked again under the lock: a scan may have ended since.
            if waiter != nil, index.withLock({ $0.isKnown }) { return (false, true) }
            if let waiter { scan.waiters.append(waiter) }
            defer { scan.isRunning = true }
            return (!scan.isRunning, false)
        }
        if isOver { waiter?.resume() }
        guard begins else { return }
        index.withLock { $0.beginScan() }
        DiskScan.begin(folder, on: scans) { [self] result in
            inspectFolder()
            guard let found = try? result.get() else {
                index.withLock { $0.failScan() }
                return endScan()
            }
            // Built here, since that takes a while. The next change of the current index pays for a copy.
            let next = index.withLock { $0 }.successor(of: found)
            changes.begin { self.replaceIndex(by: next) }
        }
    }

    /// Runs on the queue for changes: no file is written or removed meanwhile.
    private func replaceIndex(by next: DiskCacheIndex) {
        var next = next
        let changes = index.withLock { $0.changesDuringScan } ?? DiskCacheIndex.ScanChanges()
        let evicted = next.apply(changes) { folder.sizes(of: $0) }
        // The old index is released outside the lock.
        index.withLock { swap(&$0, &next) }
        remove(evicted[...])
    }

    private func remove(_ evicted: ArraySlice<DiskName>) {
        for name in evicted.prefix(Self.batchSize) where !index.withLock({ $0.contains(name) }) {
            _ = try? folder.remove(name)
        }
        let rest = evicted.dropFirst(Self.batchSize)
        guard !rest.isEmpty else { return endScan() }
        changes.begin { self.remove(rest) }
    }

    private func endScan() {
        let waiters = scan.withLock { scan in
            defer { scan = ScanState() }
            return scan.waiters
        }
        waiters.forEach { $0.resume() }
    }
}
