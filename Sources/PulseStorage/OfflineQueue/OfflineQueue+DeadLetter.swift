// SPDX-License-Identifier: MIT

public import PulseCore

extension OfflineQueue {
    /// A request that the queue gave up. ``OfflineQueue/retryDeadLetter(id:)`` sends it again.
    public struct DeadLetter: Sendable, Identifiable {
        /// The request, as stored in the journal.
        public let request: Entry
        /// The last failure, of the server or the client.
        public let reason: PulseError.Summary
        /// When the request was given up, by the wall clock.
        public let deadLetteredAt: Date

        /// The id of the request.
        public var id: UUID { request.id }
    }
}
