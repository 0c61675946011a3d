// SPDX-License-Identifier: MIT

public import PulseCore
import PulsePlatform

/// A cache store in a folder, bounded in bytes and entries. It evicts the least recently used responses first.
///
/// ```swift
/// let storage = DiskCacheStorage(directory: DiskCacheStorage.defaultDirectory(), maxBytes: 16 << 20)
/// let client = PulseClient(
///     configuration: configuration, plugins: [.cache(policy: .rfc9111, storage: storage)])
/// ```
///
/// Each response is a separate file of mode 0600. The file's name does not reveal the URL or the user; the body is not
/// encrypted. A file gets its name when it is complete, and is checked when it is read: a damaged or truncated file
/// counts as missing. Large bodies are read and written in chunks.
///
/// Several processes may use one folder. Each process keeps the bounds as far as it knows the folder. It scans the
/// folder again after it has written a quarter of `maxBytes` (at least 1 MiB), or as many responses as it knows (at
/// least 1,000).
///
/// A disk that does not respond for five to ten seconds, such as a dead network volume, is not used until it responds:
/// nothing is found, and nothing is stored. Removals are made up for before the next lookup, by clearing the whole
/// cache if necessary.
///
/// A response that would take more than a quarter of `maxBytes` is not stored. Nothing is read or created before
/// the first use. Safe from any thread. On Linux, the store needs the system's libcrypto; without it nothing is stored,
/// and storing throws ``PulseError/unsupported(_:)``.
public final class DiskCacheStorage: CacheStorage {
    let folder: DiskFolder
    let index: Locked<DiskCacheIndex>
    /// All changes run on its one thread, in order: a removal applies to everything stored before it.
    let changes = BlockingThreadPool(count: 1)
    /// Not shared with other stores: a disk that hangs blocks these threads.
    let reads = BlockingThreadPool(count: 4)
    let scans = BlockingThreadPool(count: DiskScan.threadCount)
    let watch: DiskWatch
    private let missed = Locked(MissedRemovals())
    let maxEntrySize: Int
    /// The largest number of variants of a key. A further variant replaces the oldest.
    let maxVariants: Int
    let scan = Locked(ScanState())
    private let exposure = Locked(String?.none)

    /// The state of the scan of the whole folder. One scan runs at a time.
    struct ScanState: Sendable {
        var isRunning = false
        /// Callers that wait for its end.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// Creates a cache in a folder.
    ///
    /// - Parameter directory: a folder for this cache alone; created when it is needed.
    /// - Parameter maxBytes: 64 MiB by default; a negative number counts as 0.
    /// - Parameter maxEntries: 10,000 by default; a negative number counts as 0.
    public convenience init(directory: URL, maxBytes: Int = 64 << 20, maxEntries: Int = 10_000) {
        self.init(directory: directory, maxBytes: maxBytes, maxEntries: maxEntries, disk: .system)
    }

    init(
        directory: URL, maxBytes: Int, maxEntries: Int, disk: Disk, clock: any PulseClock = .system
    ) {
        watch = DiskWatch(clock)
        folder = DiskFolder(directory, using: disk)
        maxEntrySize = max(0, maxBytes) / 4
        maxVariants = min(DiskName.slotCount, max(1, maxEntries))
        index = Locked(DiskCacheIndex(maxBytes: max(0, maxBytes), maxEntries: max(0, maxEntries)))
    }

    /// The default folder for a cache of this name, under the bundle's identifier or the executable's name. It is in
    /// the system's caches directory, where files may be deleted when space is short.
    public static func defaultDirectory(named name: String = "http") -> URL {
        let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
        return (caches ?? FileManager.default.temporaryDirectory)
            .appendingPathComponent(Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName)
            .appendingPathComponent("pulse-cache").appendingPathComponent(name)
    }

    /// The warning that other users may write to the folder; nil if they may not, or before the first scan.
    package var folderWarning: String? { exposure.withLock { $0 } }

    /// Updates ``folderWarning``. Blocks on the disk.
    func inspectFolder() {
        let warning = folder.exposureWarning
        exposure.withLock { $0 = warning }
    }

    // MARK: Lookup

    public func responses(for key: CacheKey) async -> [CachedResponse] {
        guard let name = DiskName(key), !watch.isHanging else { return [] }
        if index.withLock({ !$0.isKnown }) { startScan() }
        do {
            let read = { @Sendable [self] in found(key, name) }
            if let responses = try await watch.run(on: reads, ifCancelled: true, read) { return responses }
        } catch {
            return []
        }
        _ = try? await remove(name)
        return []
    }

    /// The responses in the files of that name; nil if one of them is damaged.
    private func found(_ key: CacheKey, _ name: DiskName) -> [CachedResponse]? {
        var responses: [CachedResponse] = []
        for slot in 0..<DiskName.slotCount {
            switch folder.read(name, slot) {
            case .empty:
                return responses
            case .damaged:
                return nil
            case .unreadable:
                // Another variant may be older than this one.
                return []
            case .response(let record, let file):
                guard name.isName(of: record.key, key), let response = response(record, file) else { return nil }
                if slot == 0, index.withLock({ $0.use(name) }) { file.touch() }
                responses.append(response)
            }
        }
        return responses
    }

    /// The response in a file; nil if its body is damaged.
    private func response(_ record: DiskRecord, _ file: DiskFile) -> CachedResponse? {
        guard record.bodyLength <= DiskFolder.smallBody else {
            let body = DiskBody(file, count: record.bodyLength, checksum: record.bodyChecksum, pool: reads)
            return CachedResponse(head: record.head, body: CachedResponse.Body(body))
        }
        // A small body is read at once: another thread switch would take longer.
        return DiskBody.read(file, count: record.bodyLength, checksum: record.bodyChecksum).map {
            CachedResponse(head: record.head, body: CachedResponse.Body($0))
        }
    }

    // MARK: Storing

    public func store(_ response: CachedResponse, for key: CacheKey) async throws -> Bool {
        let name = try Self.name(key)
        if response.body.count <= maxEntrySize, let source = response.body.stored as? DiskBody {
            return try await change { [self] in
                let file = try TemporaryDiskFile(in: folder)
                try source.forEachChunk { try file.write($0) }
                return try finish(file, response.head, key, name)
            }
        }
        guard response.body.count <= maxEntrySize else {
            try await removeVariant(response.head, name)
            return false
        }
        let data = try await response.body.data()
        return try await change { [self] in
            let file = try TemporaryDiskFile(in: folder)
            try data.withUnsafeBytes { try file.write($0) }
            return try finish(file, response.head, key, name)
        }
    }

    public func writer(for key: CacheKey) async throws -> any CachedResponse.Writer {
        DiskCacheWriter(self, key, try Self.name(key))
    }

    static func name(_ key: CacheKey) throws -> DiskName {
        guard let name = DiskName(key) else {
            throw PulseError.unsupported(
                "a cache on disk needs the system's libcrypto to hide the owners of its files")
        }
        return name
    }

    // MARK: Removing

    public func remove(_ selection: CacheKey.Selection) async throws -> Int {
        if case .key(let key) = selection {
            guard let name = DiskName(key) else { return 0 }
            return try await remove(name)
        }
        return try await change(removing: .several) { [self] in try removeAll(selection) }
    }

    public func usage() async -> CacheUsage {
        if index.withLock({ !$0.isKnown }) {
            await withCheckedContinuation { startScan(for: $0) }
        }
        return index.withLock { $0.usage }
    }

    @discardableResult
    private func remove(_ name: DiskName) async throws -> Int {
        try await change(removing: .entry(name)) { [self] in try removeNow(name) }
    }

    private func removeNow(_ name: DiskName) throws -> Int {
        index.withLock { $0.remove(name) }
        return try folder.remove(name)
    }

    enum Removal: Sendable {
        case entry(DiskName)
        case several
    }

    /// Runs work on files, even if the caller is cancelled, and converts its failures to ``PulseError``.
    ///
    /// - Parameter removal: what the work removes. If the disk hangs, it is removed later.
    func change<Value: Sendable>(
        removing removal: Removal? = nil, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        do {
            if watch.isHanging {
                if let removal { removeLater(removal) }
                throw DiskFailure.hanging
            }
            return try await watch.run(on: changes, ifCancelled: false) { Result(catching: body) }.get()
        } catch {
            if let code = (error as? JournalFailure)?.code { throw PulseError.custom(DiskFailure(code: code)) }
            throw PulseError(wrapping: error)
        }
    }

    /// Performs a removal once the disk responds again, before anything is read.
    private func removeLater(_ removal: Removal) {
        let isFirst = missed.withLock { missed in
            defer { missed.add(removal) }
            return missed.isEmpty
        }
        guard isFirst else { return }
        watch.runLate(on: changes) { [self] in
            let removals = missed.withLock { missed in
                defer { missed = MissedRemovals() }
                return missed
            }
            // Each caller already got the failure of its own removal.
            if removals.isAll { _ = try? removeAll(.all) }
            for name in removals.names { _ = try? removeNow(name) }
        }
    }
}

/// The removals missed while the disk hung: some entries, or everything if they were too many or a selection of
/// several.
private struct MissedRemovals {
    private static let maxCount = 1_000

    private(set) var names: Set<DiskName> = []
    private(set) var isAll = false

    var isEmpty: Bool { names.isEmpty && !isAll }

    mutating func add(_ removal: DiskCacheStorage.Removal) {
        if !isAll, case .entry(let name) = removal, names.count < Self.maxCount {
            names.insert(name)
        } else {
            (names, isAll) = ([], true)
        }
    }
}

extension CacheStorage where Self == DiskCacheStorage {
    /// A cache in that folder, see ``DiskCacheStorage/init(directory:maxBytes:maxEntries:)``.
    public static func disk(
        directory: URL, maxBytes: Int = 64 << 20, maxEntries: Int = 10_000
    ) -> DiskCacheStorage {
        DiskCacheStorage(directory: directory, maxBytes: maxBytes, maxEntries: maxEntries)
    }
}
