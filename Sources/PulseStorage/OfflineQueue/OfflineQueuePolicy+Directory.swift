// SPDX-License-Identifier: MIT

import PulseCore

extension OfflineQueuePolicy {
    /// The directory of the journal; nil if the queue does not write to the disk.
    ///
    /// By default application support / bundle identifier or executable / `PulseKit` / the base URL's origin.
    package func journalDirectory(baseURL: URL?) -> URL? {
        guard persistsToDisk else { return nil }
        if let directory { return directory }
        let support = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        let root = support ?? URL(fileURLWithPath: NSHomeDirectory(), isDirectory: true)
        let app = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        return root.appendingPathComponent(Self.name(app), isDirectory: true)
            .appendingPathComponent("PulseKit", isDirectory: true)
            .appendingPathComponent(
                Self.name(baseURL.flatMap { Origin($0) }.map { "\($0)" } ?? "any"), isDirectory: true)
    }

    /// Replaces characters that could make a directory name lead elsewhere.
    private static func name(_ text: String) -> String {
        let name = String(
            text.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "-") ? $0 : "_" })
        return name.allSatisfy { $0 == "." } ? "_" : name
    }
}
