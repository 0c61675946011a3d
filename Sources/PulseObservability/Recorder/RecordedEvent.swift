// SPDX-License-Identifier: MIT

package import PulseCore

/// An event that belongs to no call: a change of a breaker, of the offline queue or of the connection.
package struct RecordedEvent: Sendable, Hashable {
    /// The kind of an event.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A circuit breaker changed its state.
        case breakerOpened, breakerHalfOpened, breakerClosed
        /// The offline queue added an entry, started to send, or ended an entry.
        case queueEnqueued, queueDraining, queueDelivered, queueFailed, queueExpired, queueDeadLettered
        /// The connection changed, a pin did not match, or something else needs attention.
        case connectivity, pinningFailed, warning
    }

    /// The time of the event, by the recorder's wall clock.
    package let date: Date
    /// The kind of the event.
    package let kind: Kind
    /// The subject of the event: a breaker's key, an entry's id, a host. Secrets are masked.
    package let subject: String

    /// Creates an event at that time.
    package init(date: Date, kind: Kind, subject: String) {
        self.date = date
        self.kind = kind
        self.subject = subject
    }

    /// The approximate size in memory, in bytes.
    var cost: Int { 64 + subject.utf8.count }
}

extension RecordedEvent.Kind {
    /// The kind and the subject of an event that belongs to no call; nil for other events.
    static func of(_ event: NetworkEvent) -> (kind: RecordedEvent.Kind, subject: String)? {
        switch event {
        case .circuitBreakerOpened(let endpoint): (.breakerOpened, endpoint)
        case .circuitBreakerHalfOpened(let endpoint): (.breakerHalfOpened, endpoint)
        case .circuitBreakerClosed(let endpoint): (.breakerClosed, endpoint)
        case .offlineQueueEnqueued(let id): (.queueEnqueued, id.uuidString)
        case .offlineQueueDraining(let count): (.queueDraining, "\(count)")
        case .offlineQueueRequestCompleted(let id, let success):
            (success ? .queueDelivered : .queueFailed, id.uuidString)
        case .offlineQueueExpired(let id): (.queueExpired, id.uuidString)
        case .offlineQueueDeadLettered(let id): (.queueDeadLettered, id.uuidString)
        case .pinningFailed(let host, _): (.pinningFailed, host)
        case .connectivityChanged(let status): (.connectivity, "\(status)")
        case .warning(let text): (.warning, text)
        default: nil
        }
    }
}
