// SPDX-License-Identifier: MIT

import PulseCore

/// The sockets that were open, by their id.
///
/// A missed event does not make the number of open sockets wrong forever: the next state of a socket corrects it. A
/// socket whose end was missed is evicted by later ones.
struct SocketTable: Sendable {
    private struct Entry: Sendable {
        /// The name under which the socket is counted.
        let host: String
        var isOpen = false
    }

    /// Each entry takes some 200 bytes.
    static let maxCount = 10_000

    private let maximum: Int
    private var entries = LRUCache<UUID, Entry>(capacity: .max)

    init(maximum: Int = maxCount) {
        self.maximum = max(1, maximum)
    }

    mutating func apply(_ state: SocketState, of socket: NetworkEvent.CallSummary, to counts: inout SocketCounts) {
        switch state {
        case .open:
            let isReconnect = entries.peek(socket.id) != nil
            let host = set(socket, isOpen: true, &counts)
            counts.update(host) { metrics in
                metrics.connections += 1
                if isReconnect { metrics.reconnects += 1 }
            }
        // It was open before, even if that was missed.
        case .reconnecting: _ = set(socket, isOpen: false, &counts)
        case .connecting, .closing:
            if entries.peek(socket.id) != nil { _ = set(socket, isOpen: false, &counts) }
        case .idle, .closed:
            if let entry = entries.removeValue(for: socket.id) { Self.forget(entry, &counts) }
        }
    }

    mutating func apply(
        _ end: NetworkEvent.SocketDisconnection, of socket: NetworkEvent.CallSummary, to counts: inout SocketCounts
    ) {
        let isKnown = entries.peek(socket.id) != nil
        let host = isKnown ? set(socket, isOpen: false, &counts) : counts.name(of: socket.host)
        counts.update(host) { $0.count(end) }
    }

    mutating func removeAll() {
        entries.removeAll()
    }

    /// Returns the name under which the socket is counted.
    private mutating func set(_ socket: NetworkEvent.CallSummary, isOpen: Bool, _ counts: inout SocketCounts) -> String
    {
        if entries.peek(socket.id) == nil, entries.count == maximum, let oldest = entries.removeLeastRecentlyUsed() {
            Self.forget(oldest.value, &counts)
        }
        let (host, change) = entries.withValue(for: socket.id, default: Entry(host: counts.name(of: socket.host))) {
            entry -> (String, Int) in
            defer { entry.isOpen = isOpen }
            return (entry.host, (isOpen ? 1 : 0) - (entry.isOpen ? 1 : 0))
        }
        if change != 0 { counts.update(host) { $0.open += change } }
        return host
    }

    private static func forget(_ entry: Entry, _ counts: inout SocketCounts) {
        if entry.isOpen { counts.update(entry.host) { $0.open -= 1 } }
    }
}
