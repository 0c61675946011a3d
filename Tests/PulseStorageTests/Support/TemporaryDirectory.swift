// SPDX-License-Identifier: MIT

import PulseCore

/// A temporary directory, removed with the value.
final class TemporaryDirectory: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func file(_ name: String) -> URL {
        url.appendingPathComponent(name)
    }

    func permissions(of name: String) throws -> Int {
        try (FileManager.default.attributesOfItem(atPath: file(name).path)[.posixPermissions] as? NSNumber)?.intValue
            ?? 0
    }
}
