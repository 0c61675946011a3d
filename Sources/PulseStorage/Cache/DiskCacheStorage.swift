// SPDX-License-Identifier: MIT

public import PulseCore
import PulsePlatform

/// A cache store in a folder, bounded in bytes and entries: the least recently used answers go first.
///
/// Each answer is a file of its own, of mode 0600, under a name that tells nothing of its URL or its user; its body is
/// not encrypted. A file gets its name when it is complete, and is checked when it is read: one that was damaged, or
/// cut short by a crash, counts as missing. Several processes may use one folder. Each keeps the bounds as far as it
/// knows the folder, and looks through it again after it has written a quarter of them. Large bodies are read and
/// written piece by piece.
///
/// An answer that would take more than a quarter of the bytes is not kept. Nothing is read or made before the first
/// use. Safe from any thread. On Linux it needs the system's libcrypto; without it nothing is kept, and storing throws
/// ``PulseError/unsupported(_:)``.
public final class DiskCacheStorage: CacheStorage, EndsWithItsCall {
    let folder: DiskFolder
    let ledger: Locked<DiskCacheIndex>
    /// Every change of an answer runs here, in its order: a removal meets what was stored before it.
    let changes = SerialDiskQueue("com.pulse.cache.changes")
    let reads = BlockingThreadPool.files
    let maximumEntrySize: Int
    /// The number of variants of a key. The oldest gives way to a further one.
    let maximumVariants: Int
    let refuses: (@Sendable (_ bytes: Int) -> Int32?)?
    let look = Locked(Look())

    /// The state of the look through the whole folder; one look at a time.
    struct Look: Sendable {
        var isUnderWay = false
        /// Callers that wait for its end.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// A cache in that folder.
    ///
    /// - Parameter directory: for this cache alone; made when it is needed.
    /// - Parameter maximumBytes: 64 MiB by default; a negative number counts as 0.
    /// - Parameter maximumEntries: 10,000 by default; a negative number counts as 0.
    public convenience init(directory: URL, maximumBytes: Int = 64 << 20, maximumEntries: Int = 10_000) {
        self.init(directory: directory, maximumBytes: maximumBytes, maximumEntries: maximumEntries, refuses: nil)
    }

    init(
        directory: URL, maximumBytes: Int, maximumEntries: Int, refuses: (@Sendable (_ bytes: Int) -> Int32?)?,
        refusesToOpen: (@Sendable () -> Int32?)? = nil
    ) {
        folder = DiskFolder(directory, refusesToOpen: refusesToOpen)
        maximumEntrySize = max(0, maximumBytes) / 4
        maximumVariants = min(DiskName.slotCount, max(1, maximumEntries))
        self.refuses = refuses
        ledger = Locked(DiskCacheIndex(maximumBytes: max(0, maximumBytes), maximumEntries: max(0, maximumEntries)))
    }

    /// A folder for caches of that name: in the system's folder for files that may be deleted when room is short, under
    /// the bundle's identifier or the executable's name.
    public static func defaultDirectory(named name: String = "http") -> URL {
        let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
        return (caches ?? FileManager.default.temporaryDirectory)
            .appendingPathComponent(Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName)
            .appendingPathComponent("pulse-cache").appendingPathComponent(name)
    }

    // MARK: Finding

    public func responses(for key: CacheKey) async -> [CachedResponse] {
        guard let name = DiskName(key) else { return [] }
        if ledger.withLock({ !$0.isKnown }) { lookThroughSoon() }
        if let responses = await reads.run({ [self] in found(key, name) }) { return responses }
        _ = try? await forget(name)
        return []
    }

    /// The answers in the files of that name; nil if one of them is damaged.
    private func found(_ key: CacheKey, _ name: DiskName) -> [CachedResponse]? {
        var responses: [CachedResponse] = []
        for slot in 0..<DiskName.slotCount {
            switch folder.read(name, slot) {
            case .empty:
                return responses
            case .damaged:
                return nil
            case .unreadable:
                // One of the others may be older than this one.
                return []
            case .response(let record, let file):
                guard name.isName(of: record.key, key), let response = response(record, file) else { return nil }
                if slot == 0, ledger.withLock({ $0.use(name) }) { file.mark() }
                responses.append(response)
            }
        }
        return responses
    }

    /// The answer in a file; nil if its body is damaged.
    private func response(_ record: DiskRecord, _ file: DiskFile) -> CachedResponse? {
        guard record.bodyLength <= DiskFolder.smallBody else {
            let body = DiskBody(file, count: record.bodyLength, checksum: record.bodyChecksum, lanes: reads)
            return CachedResponse(head: record.head, body: CachedBody(body))
        }
        // A small body is read at once: a separate trip to this thread and back would take longer.
        return DiskBody.read(file, count: record.bodyLength, checksum: record.bodyChecksum).map {
            CachedResponse(head: record.head, body: CachedBody($0))
        }
    }

    // MARK: Storing

    public func store(_ response: CachedResponse, for key: CacheKey) async throws -> Bool {
        let name = try Self.name(key)
        if response.body.count <= maximumEntrySize, let source = response.body.stored as? DiskBody {
            return try await change { [self] in
                let writing = try DiskWriting(in: folder, refuses: refuses)
                try source.forEachChunk { try writing.write($0) }
                return try finish(writing, response.head, key, name)
            }
        }
        guard response.body.count <= maximumEntrySize else {
            try await removeVariant(response.head, name)
            return false
        }
        let data = try await response.body.data()
        return try await change { [self] in
            let writing = try DiskWriting(in: folder, refuses: refuses)
            try data.withUnsafeBytes { try writing.write($0) }
            return try finish(writing, response.head, key, name)
        }
    }

    public func writer(for key: CacheKey) async throws -> any CacheWriter {
        DiskCacheWriter(self, key, try Self.name(key))
    }

    static func name(_ key: CacheKey) throws -> DiskName {
        guard let name = DiskName(key) else {
            throw PulseError.unsupported(
                "a cache on disk needs the system's libcrypto, to tell nobody whose files they are")
        }
        return name
    }

    // MARK: Removing

    public func remove(_ selection: CacheSelection) async throws -> Int {
        if case .key(let key) = selection {
            guard let name = DiskName(key) else { return 0 }
            return try await forget(name)
        }
        return try await change { [self] in try removeAll(selection) }
    }

    public func usage() async -> CacheUsage {
        if ledger.withLock({ !$0.isKnown }) {
            await withCheckedContinuation { lookThroughSoon(for: $0) }
        }
        return ledger.withLock { $0.usage }
    }

    @discardableResult
    private func forget(_ name: DiskName) async throws -> Int {
        try await change { [self] in
            ledger.withLock { $0.remove(name) }
            return try folder.remove(name)
        }
    }

    /// Runs work on files, and turns its failures into ``PulseError``.
    func change<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        do {
            return try await changes.run(body)
        } catch let failure as DiskFailure {
            throw PulseError.custom(failure)
        } catch {
            throw PulseError(wrapping: error)
        }
    }
}

extension CacheStorage where Self == DiskCacheStorage {
    /// A cache in that folder, see ``DiskCacheStorage/init(directory:maximumBytes:maximumEntries:)``.
    public static func disk(
        directory: URL, maximumBytes: Int = 64 << 20, maximumEntries: Int = 10_000
    ) -> DiskCacheStorage {
        DiskCacheStorage(directory: directory, maximumBytes: maximumBytes, maximumEntries: maximumEntries)
    }
}
