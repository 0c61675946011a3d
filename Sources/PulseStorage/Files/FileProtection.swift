// SPDX-License-Identifier: MIT

import PulseCore

/// How the system encrypts a file while the device is locked, and whether backups contain it.
package enum FileProtection {
    #if canImport(Darwin)
    /// Makes a file or folder readable after the first unlock since boot: a queue is drained and a cache read while the
    /// device is locked, too. Files created in the folder later inherit its protection. Does nothing on a system
    /// without file protection.
    package static func apply(to path: String) {
        try? FileManager.default.setAttributes(
            [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: path)
    }

    /// Excludes a directory from backups: a restored queue would send again what was sent since, and a restored
    /// download has no partial file.
    package static func excludeFromBackup(_ path: String) {
        var url = URL(fileURLWithPath: path, isDirectory: true)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        try? url.setResourceValues(values)
    }
    #else
    package static func apply(to path: String) {}
    package static func excludeFromBackup(_ path: String) {}
    #endif
}
