// SPDX-License-Identifier: MIT

import PulseCore

/// How the system encrypts a file while the device is locked.
enum FileProtection {
    #if canImport(Darwin)
    /// Readable from the first unlock after a start on: a queue is drained, and a cache read, while the device is locked,
    /// too. What is made in a folder later is protected as the folder is. Where there is no such thing nothing happens.
    static func apply(to path: String) {
        try? FileManager.default.setAttributes(
            [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: path)
    }
    #else
    static func apply(to path: String) {}
    #endif
}
