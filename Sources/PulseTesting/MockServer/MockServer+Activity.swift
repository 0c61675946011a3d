// SPDX-License-Identifier: MIT

import PulseCore

extension MockServer {
    /// A snapshot of a server's record.
    public struct Activity: Sendable {
        /// Requests that were received completely, in the order of their completion.
        public internal(set) var requests: [RecordedRequest] = []
        /// Requests whose header fields have arrived and whose body is incomplete, in no defined order. A truncated
        /// request stays here, with the received part of its body; a request that is still arriving has only its byte
        /// count.
        public internal(set) var incompleteRequests: [RecordedRequest] = []
        /// Input that was not HTTP, or ended within the header fields.
        public internal(set) var malformedRequests: [MalformedRequest] = []
        /// Every connection accepted so far, in order.
        public internal(set) var connections: [Connection] = []

        /// Every WebSocket that was opened so far, in order.
        public internal(set) var sockets: [ServerSocket.Record] = []

        /// Connections that are open now.
        public var openConnectionCount: Int { connections.count { $0.isOpen } }

        /// Connections that the client closed or reset before the server did.
        public var connectionsClosedByClient: [Connection] {
            connections.filter { $0.ending == .closedByClient || $0.ending == .resetByClient }
        }
    }

    /// The record of one connection.
    public struct Connection: Sendable, Hashable {
        /// How a connection ended.
        public enum Ending: Sendable, Hashable {
            /// The client ended its side first. Ending only its sending side counts as well.
            case closedByClient
            /// The client aborted the connection.
            case resetByClient
            /// This server closed it.
            case closedByServer
        }

        /// The number of the connection, counted from 0 in the order of acceptance.
        public let index: Int
        /// The number of requests whose header fields arrived on it.
        public internal(set) var requestCount = 0
        /// The bytes handed to the system for sending; bytes that a slow client has not read may be included.
        public internal(set) var sentByteCount = 0
        /// How it ended or is about to end; nil while neither side has ended it.
        public internal(set) var ending: Ending?
        /// Whether the server still holds its socket.
        public internal(set) var isOpen = true
    }
}
