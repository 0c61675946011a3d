// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// The digests that the cache uses for credentials, bodies of queries, and files.
package enum CacheDigest {
    /// Set by tests to simulate a system without a hash function.
    @TaskLocal static var isUnsupported = false

    /// A digest of 64 hexadecimal digits; nil where the system has no hash function.
    package static func hex(_ text: String) -> String? {
        isUnsupported ? nil : SystemHashes.library?.sha256(text)?.hex
    }

    package static func hex(_ data: Data) -> String? {
        isUnsupported ? nil : SystemHashes.library?.sha256(data)?.hex
    }
}
