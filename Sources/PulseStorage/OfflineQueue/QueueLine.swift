// SPDX-License-Identifier: MIT

import PulseCore

extension OfflineQueue.StateMachine {
    /// The entries of one tag, first in, first out. Those that are gone stay in it until they come to its front.
    struct Line: Sendable {
        private(set) var ids: ArraySlice<(UUID, UInt64)> = []
        /// The entry on its way, until its outcome is in the journal.
        var inFlight: UUID?
        /// The revision of the entry in which it was sent.
        var sentRevision = 0
        var failures = 0
        /// The uptime before which nothing is sent.
        var due: TimeInterval = 0
        /// The part of `due` that a server asked for.
        var notBefore: TimeInterval = 0
        /// Whether the wait is for a server that refused: then any sender has to wait.
        var isServers = false
        /// Whether the line is in the list of those that may have something to send.
        var isListed = false

        var isEmpty: Bool { ids.isEmpty && inFlight == nil }
        var first: (UUID, UInt64)? { ids.first }

        mutating func append(_ id: UUID, _ order: UInt64) {
            ids.append((id, order))
        }

        mutating func removeFirst() {
            _ = ids.popFirst()
            // A slice keeps the storage of what was cut from it.
            if ids.isEmpty {
                ids = []
            } else if ids.startIndex > 64, ids.startIndex > ids.count {
                ids = ArraySlice(Array(ids))
            }
        }

        /// Forgets the failures: the server has given a verdict.
        mutating func calm() {
            (failures, due, notBefore, isServers) = (0, 0, 0, false)
        }

        /// Forgets the failures of an entry that is given up. What the server asked for holds for the next one too.
        mutating func giveUp() {
            (failures, due, isServers) = (0, notBefore, notBefore > 0)
        }

        /// Waits no longer than the server asked for.
        mutating func clearWait() {
            due = notBefore
        }

        /// Takes over what was under way before the journal was read again.
        mutating func resume(_ before: Line) {
            (inFlight, failures, due, notBefore) = (before.inFlight, before.failures, before.due, before.notBefore)
            (sentRevision, isServers) = (before.sentRevision, before.isServers)
        }
    }

    /// Tags in the order in which their turn comes.
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
