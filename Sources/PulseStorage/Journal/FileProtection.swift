// SPDX-License-Identifier: MIT

import PulseCore

/// How the system encrypts a file while the device is locked.
enum FileProtection {
    #if canImport(Darwin)
    /// Makes a folder readable from the first unlock after a start on: a queue is drained and a cache read while the
    /// device is locked, too. What is made in the folder later gets its protection. Does nothing on a system without
    /// it.
    static func apply(to path: String) {
        try? FileManager.default.setAttributes(
            [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: path)
    }
    #else
    static func apply(to path: String) {}
    #endif
}
