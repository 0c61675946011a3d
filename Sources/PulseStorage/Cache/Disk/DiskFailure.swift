// SPDX-License-Identifier: MIT

import PulseCore

/// A failure of the disk, with the system's text, as the callers of a cache see it. Within the cache it is a
/// ``JournalFailure``.
struct DiskFailure: Error, CustomStringConvertible {
    let code: Int32

    /// The disk does not respond.
    static let hanging = DiskFailure(code: ETIMEDOUT)

    var description: String { code == ETIMEDOUT ? "the disk does not respond" : String(cString: strerror(code)) }
}
