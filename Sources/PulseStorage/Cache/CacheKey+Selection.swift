// SPDX-License-Identifier: MIT

import PulseCore

extension CacheKey {
    /// The entries that ``CacheStorage/remove(_:)`` removes.
    public enum Selection: Sendable, Hashable {
        /// Every response under that key.
        case key(CacheKey)
        /// Every response for that normalized URL, of every partition and with any request body.
        case url(String)
        /// Every response whose normalized URL begins with that text.
        case prefix(String)
        /// Every response that was stored with that tag, and the other variants of its key.
        case tag(String)
        /// Every response of that partition.
        case partition(String)
        /// Every response in the store.
        case all
    }
}
