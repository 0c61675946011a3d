// SPDX-License-Identifier: MIT

import PulseCore

/// How the system encrypts a file while the device is locked.
package enum FileProtection {
    #if canImport(Darwin)
    /// Makes a file or folder readable after the first unlock since boot: a queue is drained and a cache read while the
    /// device is locked, too. Files created in the folder later inherit its protection. Does nothing on a system
    /// without file protection.
    package static func apply(to path: String) {
        try? FileManager.default.setAttributes(
            [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: path)
    }
    #else
    package static func apply(to path: String) {}
    #endif
}
