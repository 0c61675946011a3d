// SPDX-License-Identifier: MIT

public import PulseCore

/// Something that happened to no call in particular: a breaker's change, the offline queue's work, the connection.
public struct RecordedEvent: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case breakerOpened, breakerHalfOpened, breakerClosed
        case queueEnqueued, queueDraining, queueDelivered, queueFailed, queueExpired, queueDeadLettered
        case connectivity, pinningFailed, warning
    }

    /// By the recorder's clock.
    public let date: Date
    public let kind: Kind
    /// What it is about: a breaker's key, an entry's id, a host. Secrets masked.
    public let subject: String

    public init(date: Date, kind: Kind, subject: String) {
        self.date = date
        self.kind = kind
        self.subject = subject
    }

    /// What it takes in memory, about.
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
