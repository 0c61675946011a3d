// SPDX-License-Identifier: MIT

public import PulseCore

/// Something that happened to no call in particular: a change of a breaker, of the offline queue or of the connection.
public struct RecordedEvent: Sendable, Hashable {
    /// What happened.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A circuit breaker changed its state.
        case breakerOpened, breakerHalfOpened, breakerClosed
        /// The offline queue took in an entry, began to send, or ended an entry.
        case queueEnqueued, queueDraining, queueDelivered, queueFailed, queueExpired, queueDeadLettered
        /// The connection changed, a pin did not match, or something else needs attention.
        case connectivity, pinningFailed, warning
    }

    /// When it happened, by the recorder's wall clock.
    public let date: Date
    /// What happened.
    public let kind: Kind
    /// What it is about: a breaker's key, an entry's id, a host. Secrets are masked.
    public let subject: String

    /// An event at that time.
    public init(date: Date, kind: Kind, subject: String) {
        self.date = date
        self.kind = kind
        self.subject = subject
    }

    /// The bytes that it takes in memory, approximately.
    var cost: Int { 64 + subject.utf8.count }
}

extension RecordedEvent.Kind {
    /// The kind and the subject of an event that belongs to no call; nil for the others.
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
