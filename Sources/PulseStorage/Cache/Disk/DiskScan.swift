// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// One scan of every file in a cache's folder. Two threads share the work.
final class DiskScan: Sendable {
    static let threadCount = 2

    private struct State {
        var next = 0
        var done = 0
        var found: [[DiskCacheIndex.Found]] = []
        var failure: (any Error)?
    }

    private let folder: DiskFolder
    private let shards: [(partition: DiskName.Half, shard: String)]
    private let state = Locked(State())
    private let end: @Sendable (Result<[DiskCacheIndex.Found], any Error>) -> Void

    private init(
        _ folder: DiskFolder, _ shards: [(partition: DiskName.Half, shard: String)],
        _ end: @escaping @Sendable (Result<[DiskCacheIndex.Found], any Error>) -> Void
    ) {
        self.folder = folder
        self.shards = shards
        self.end = end
    }

    /// Starts a scan on threads that no call waits for. It removes leftovers of killed processes and empty folders, and
    /// passes on all files, the least recently used first. Fails if the folder cannot be read.
    static func begin(
        _ folder: DiskFolder, on pool: BlockingThreadPool,
        end: @escaping @Sendable (Result<[DiskCacheIndex.Found], any Error>) -> Void
    ) {
        pool.begin {
            let scan: DiskScan
            do {
                // Another user's leftovers must not prevent the scan.
                try? folder.removeEarlierVersions()
                try TemporaryDiskFile.removeLeftovers(in: folder)
                scan = DiskScan(folder, try folder.shards(), end)
            } catch {
                return end(.failure(error))
            }
            guard !scan.shards.isEmpty else { return end(.success([])) }
            for _ in 1..<min(threadCount, scan.shards.count) { pool.begin { scan.work() } }
            scan.work()
        }
    }

    private func work() {
        while let index = take() {
            var found: [DiskCacheIndex.Found] = []
            var failure: (any Error)?
            let (partition, shard) = shards[index]
            do {
                try folder.forEachFile(of: partition, inShard: shard) { name, slot, file in
                    guard let status = try? file.status(), status.size < .max else { return }
                    found.append(DiskCacheIndex.Found(name: name, slot: slot, size: status.size, used: status.modified))
                }
                if found.isEmpty { folder.removeEmptyFolder(shard, of: partition) }
            } catch JournalFailure.notPermitted {
                // Another user's folder: files that this process can neither read nor remove do not count.
            } catch let error {
                failure = error
            }
            let all = state.withLock { [found, failure] state -> Result<[[DiskCacheIndex.Found]], any Error>? in
                state.done += 1
                state.found.append(found)
                state.failure = state.failure ?? failure
                guard state.done == shards.count else { return nil }
                defer { state.found = [] }
                return state.failure.map { .failure($0) } ?? .success(state.found)
            }
            if let all { end(all.map(Self.inOrder)) }
        }
    }

    private func take() -> Int? {
        state.withLock { state in
            guard state.next < shards.count else { return nil }
            defer { state.next += 1 }
            return state.next
        }
    }

    private static func inOrder(_ found: [[DiskCacheIndex.Found]]) -> [DiskCacheIndex.Found] {
        var all: [DiskCacheIndex.Found] = []
        all.reserveCapacity(found.reduce(0) { $0 + $1.count })
        for some in found { all += some }
        all.sort { $0.used < $1.used }
        return all
    }
}
