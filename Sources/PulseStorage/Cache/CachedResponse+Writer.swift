// SPDX-License-Identifier: MIT

public import PulseCore

extension CachedResponse {
    /// A writer of one body into a store, for one task at a time. If it is released without a commit, nothing is
    /// stored.
    public protocol Writer: Sendable {
        /// Appends bytes. Returns false if the body is too large: the rest need not be written then.
        func write(_ chunk: Data) async throws -> Bool

        /// Completes the response with its head. Returns and throws as ``CacheStorage/store(_:for:)`` does. Returns
        /// false and removes nothing after ``write(_:)`` has returned false.
        func commit(_ head: CachedResponse.Head) async throws -> Bool

        /// Discards the bytes written so far. May be called at any time, on any thread.
        func discard()
    }
}
