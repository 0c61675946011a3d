// SPDX-License-Identifier: MIT

import PulseCore

extension QueueStore.StateMachine {
    /// The entries of one tag, and their backoff.
    struct TagQueue: Sendable {
        /// The ids with their positions, first in, first out. Removed entries stay in it until they reach its front.
        var ids = Fifo<(UUID, UInt64)>()
        /// The entry in flight, until its outcome is in the journal.
        var inFlight: UUID?
        /// The revision of the entry that was sent.
        var sentRevision = 0
        var failures = 0
        /// The uptime before which nothing is sent.
        var due: TimeInterval = 0
        /// The uptime until which a server requested to wait; 0 if none did.
        var notBefore: TimeInterval = 0
        /// Whether a server's refusal caused the wait. Then every process has to wait.
        var isServerBackoff = false
        /// Whether the tag is in the ready list.
        var isListed = false

        /// Clears the failures after a verdict of the server.
        mutating func clearFailures() {
            (failures, due, notBefore, isServerBackoff) = (0, 0, 0, false)
        }

        /// Clears the failures of an entry that is given up. A wait that the server requested applies to the next entry
        /// too.
        mutating func clearFailuresOfDeadLetter() {
            (failures, due, isServerBackoff) = (0, notBefore, notBefore > 0)
        }

        /// Shortens the wait to the part that the server requested.
        mutating func clearWait() {
            due = notBefore
        }

        /// Restores the state from before the journal was read again.
        mutating func resume(_ before: TagQueue) {
            (inFlight, failures, due, notBefore) = (before.inFlight, before.failures, before.due, before.notBefore)
            (sentRevision, isServerBackoff) = (before.sentRevision, before.isServerBackoff)
        }
    }

    /// A first-in, first-out queue.
    struct Fifo<Element: Sendable>: Sendable {
        private(set) var elements: ArraySlice<Element> = []

        mutating func append(_ element: Element) {
            elements.append(element)
        }

        mutating func popFirst() -> Element? {
            let first = elements.popFirst()
            // A slice keeps the storage of removed elements.
            if elements.isEmpty {
                elements = []
            } else if elements.startIndex > 64, elements.startIndex > elements.count {
                elements = ArraySlice(Array(elements))
            }
            return first
        }
    }
}
