// SPDX-License-Identifier: MIT

import PulseCore

extension OfflineQueue.StateMachine {
    /// The entries of one tag, first in, first out. Those that are gone stay in it until they come to its front.
    struct Line: Sendable {
        private(set) var ids: ArraySlice<(UUID, UInt64)> = []
        /// On its way, until its outcome is in the journal.
        var inFlight: UUID?
        /// The form in which that was sent.
        var sentRevision = 0
        var failures = 0
        /// In uptime: nothing is sent before.
        var due: TimeInterval = 0
        /// The part of `due` that a server asked for.
        var notBefore: TimeInterval = 0
        /// A server has refused: whoever sends has to wait.
        var isServers = false
        /// It stands in the list of those that may have something to send.
        var isListed = false

        var isEmpty: Bool { ids.isEmpty && inFlight == nil }
        var first: (UUID, UInt64)? { ids.first }

        mutating func append(_ id: UUID, _ order: UInt64) {
            ids.append((id, order))
        }

        mutating func removeFirst() {
            _ = ids.popFirst()
            // A slice keeps what was cut from it.
            if ids.isEmpty {
                ids = []
            } else if ids.startIndex > 64, ids.startIndex > ids.count {
                ids = ArraySlice(Array(ids))
            }
        }

        /// The server has spoken.
        mutating func calm() {
            (failures, due, notBefore, isServers) = (0, 0, 0, false)
        }

        /// Waits no longer than the server asked for.
        mutating func clearWait() {
            due = notBefore
        }

        /// Takes over what was under way.
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
