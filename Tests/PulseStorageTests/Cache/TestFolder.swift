// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// A temporary folder for one test.
struct TestFolder: Sendable {
    let url: URL

    static func run(_ body: (TestFolder) async throws -> Void) async throws {
        let folder = TestFolder(
            url: FileManager.default.temporaryDirectory.appendingPathComponent("pulse-cache-\(UUID().uuidString)"))
        defer { try? FileManager.default.removeItem(at: folder.url) }
        try await body(folder)
    }

    func store() -> DiskCacheStorage {
        DiskCacheStorage(
            directory: url, maxBytes: CacheStorageContract.maxBytes,
            maxEntries: CacheStorageContract.maxEntries)
    }

    /// Files and folders.
    var everything: [URL] {
        let paths = FileManager.default.enumerator(atPath: url.path)?.compactMap { $0 as? String } ?? []
        return paths.map { url.appendingPathComponent($0) }
    }

    var files: [URL] {
        everything.filter { !$0.path.contains("/tmp/pulse") || !$0.path.contains("/v2/tmp") }.filter {
            (try? FileManager.default.attributesOfItem(atPath: $0.path))?[.type] as? FileAttributeType == .typeRegular
        }
    }
}
