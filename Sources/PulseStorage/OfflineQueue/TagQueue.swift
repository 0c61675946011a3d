// SPDX-License-Identifier: MIT

import PulseCore

extension OfflineQueue.StateMachine {
    /// The entries of one tag, first in, first out. Removed entries stay in it until they reach its front.
    struct TagQueue: Sendable {
        private(set) var ids: ArraySlice<(UUID, UInt64)> = []
        /// The entry in flight, until its outcome is in the journal.
        var inFlight: UUID?
        /// The revision in which the entry was sent.
        var sentRevision = 0
        var failures = 0
        /// The uptime before which nothing is sent.
        var due: TimeInterval = 0
        /// The part of `due` that a server asked for.
        var notBefore: TimeInterval = 0
        /// Whether a server's refusal caused the wait. Then every process has to wait.
        var isServerBackoff = false
        /// Whether the tag is in the ready list.
        var isListed = false

        var isEmpty: Bool { ids.isEmpty && inFlight == nil }
        var first: (UUID, UInt64)? { ids.first }

        mutating func append(_ id: UUID, _ order: UInt64) {
            ids.append((id, order))
        }

        mutating func removeFirst() {
            _ = ids.popFirst()
            // A slice keeps the storage of removed elements.
            if ids.isEmpty {
                ids = []
            } else if ids.startIndex > 64, ids.startIndex > ids.count {
                ids = ArraySlice(Array(ids))
            }
        }

        /// Clears the failures: the server has given a verdict.
        mutating func clearFailures() {
            (failures, due, notBefore, isServerBackoff) = (0, 0, 0, false)
        }

        /// Clears the failures of an entry that is given up. A wait that the server asked for applies to the next entry
        /// too.
        mutating func clearFailuresOfDeadLetter() {
            (failures, due, isServerBackoff) = (0, notBefore, notBefore > 0)
        }

        /// Shortens the wait to what the server asked for.
        mutating func clearWait() {
            due = notBefore
        }

        /// Restores the state from before the journal was read again.
        mutating func resume(_ before: TagQueue) {
            (inFlight, failures, due, notBefore) = (before.inFlight, before.failures, before.due, before.notBefore)
            (sentRevision, isServerBackoff) = (before.sentRevision, before.isServerBackoff)
        }
    }

    /// Tags that may have something to send, in the order in which they are served.
    struct ReadyList: Sendable {
        private var tags: ArraySlice<String?> = []

        var isEmpty: Bool { tags.isEmpty }

        mutating func append(_ tag: String?) {
            tags.append(tag)
        }

        mutating func popFirst() -> String?? {
            guard let first = tags.popFirst() else { return nil }
            if tags.isEmpty {
                tags = []
            } else if tags.startIndex > 64, tags.startIndex > tags.count {
                tags = ArraySlice(Array(tags))
            }
            return .some(first)
        }
    }
}
