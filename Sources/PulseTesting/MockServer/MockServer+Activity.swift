// SPDX-License-Identifier: MIT

import PulseCore

extension MockServer {
    /// The record of all that has happened on a server up to one moment.
    public struct Activity: Sendable {
        /// Requests that were received whole, in the order in which they were complete.
        public internal(set) var requests: [RecordedRequest] = []
        /// Requests whose head has come and whose body has not come completely, in no promised order. One that was cut
        /// short stays here, with the body as far as it came; of one that is still arriving only the count of bytes is
        /// known.
        public internal(set) var incompleteRequests: [RecordedRequest] = []
        /// What was not HTTP, or ended within a header block.
        public internal(set) var malformedRequests: [MalformedRequest] = []
        /// Every connection accepted so far, in order.
        public internal(set) var connections: [Connection] = []

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
            /// The client ended its side first. One that only ends its sending side counts as well.
            case closedByClient
            /// The client aborted the connection.
            case resetByClient
            /// This server closed it.
            case closedByServer
        }

        /// The number of the connection, counted from 0 in the order of acceptance.
        public let index: Int
        /// The number of requests whose head came on it.
        public internal(set) var requestCount = 0
        /// The bytes handed to the system for sending; a part of what a slow client has not read counts.
        public internal(set) var sentByteCount = 0
        /// How it ended or is about to; nil while neither side has.
        public internal(set) var ending: Ending?
        /// Whether the server still holds its socket.
        public internal(set) var isOpen = true
    }
}
