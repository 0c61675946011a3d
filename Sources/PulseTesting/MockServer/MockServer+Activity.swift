// SPDX-License-Identifier: MIT

import PulseCore

extension MockServer {
    /// All that has happened on a server up to one moment.
    public struct Activity: Sendable {
        /// Requests that were received whole, in the order in which they were complete.
        public internal(set) var requests: [RecordedRequest] = []
        /// Requests of which the head has come and the body not all, in no promised order. One that was cut short
        /// stays here, with the body as far as it came; of one that still arrives only the count of bytes is known.
        public internal(set) var incompleteRequests: [RecordedRequest] = []
        /// What was no HTTP, or ended within a header block.
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

    /// What has happened on one connection.
    public struct Connection: Sendable, Hashable {
        public enum Ending: Sendable, Hashable {
            /// The client ended its side first. One that only ends its sending side counts as well.
            case closedByClient
            /// The client aborted the connection.
            case resetByClient
            /// This server closed it.
            case closedByServer
        }

        /// Counted from 0 in the order they were accepted.
        public let index: Int
        /// Requests whose head came on it.
        public internal(set) var requestCount = 0
        /// Bytes handed to the system for sending; what a slow client has not read counts in part.
        public internal(set) var sentByteCount = 0
        /// How it ended or is about to; nil while neither side has.
        public internal(set) var ending: Ending?
        /// False once the server has given back its socket.
        public internal(set) var isOpen = true
    }
}
