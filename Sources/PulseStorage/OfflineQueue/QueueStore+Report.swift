// SPDX-License-Identifier: MIT

import PulseCore

extension QueueStore {
    /// Performs the effects of records: events, the end of waits, and the removal of bodies.
    struct Report: Sendable {
        let files: BodyFiles?
        let ended: EndedEntries?
        let waiters: QueueWaiters
        let events: (any EventSink)?

        func emit(_ event: @autoclosure () -> NetworkEvent) {
            guard let events, events.isActive else { return }
            events.emit(event())
        }

        func damage(_ bytes: Int, _ kept: Int) {
            let rest = kept < bytes ? "; there was no room for the other \(bytes - kept)" : ""
            let text = "\(bytes) bytes of the offline queue's journal were damaged; \(kept) were set aside"
            emit(.warning(text + rest))
        }

        func perform(_ effect: StateMachine.Effect) {
            switch effect {
            case .removed(let id, let reason, let wasUpdated):
                if wasUpdated { files?.removeAll(of: id) } else { files?.remove(id.uuidString) }
                switch reason {
                case .done: emit(.offlineQueueRequestCompleted(id: id, success: true))
                case .expired: emit(.offlineQueueExpired(id: id))
                case .dropped: emit(.offlineQueueRequestCompleted(id: id, success: false))
                case .removed, .surplus: break
                }
                waiters.end(id, reason)
            case .vanished(let id, let wasUpdated):
                let reason = ended?.read().last { $0.id == id }?.reason
                perform(.removed(id, reason ?? .removed, wasUpdated: wasUpdated))
            case .deadLettered(let id):
                emit(.offlineQueueDeadLettered(id: id))
                emit(.offlineQueueRequestCompleted(id: id, success: false))
                waiters.end(id, nil)
            }
        }
    }
}
