// SPDX-License-Identifier: MIT

import PulseCore

extension MetricsSnapshot {
    /// Counts of sockets and their connections: of a host, or of all.
    ///
    /// Messages and bytes are counted when their connection ends.
    public struct Sockets: Sendable, Hashable {
        /// Sockets that are open now.
        public internal(set) var open = 0
        /// The number of times that sockets were opened, including reconnects.
        public internal(set) var connections = 0
        /// The number of times that sockets were opened again.
        public internal(set) var reconnects = 0
        /// Connections that have ended, by their close code: 1000 to 1015 individually, 3000 to 3999 as 3000, 4000 to
        /// 4999 as 4000, and any other as 0.
        public internal(set) var disconnections: [Int: Int] = [:]
        /// Messages that were sent.
        public internal(set) var messagesSent = 0
        /// Messages that were received.
        public internal(set) var messagesReceived = 0
        /// Bytes that were sent after the handshakes.
        public internal(set) var bytesSent: Int64 = 0
        /// Bytes that were received after the handshakes.
        public internal(set) var bytesReceived: Int64 = 0
        /// Messages that were unconfirmed when their connection ended, and may be lost.
        public internal(set) var unconfirmed = 0

        /// Creates counts that are all 0.
        package init() {}

        /// Adds the counts of another.
        mutating func merge(_ other: Sockets) {
            open += other.open
            connections += other.connections
            reconnects += other.reconnects
            disconnections.merge(other.disconnections, uniquingKeysWith: +)
            messagesSent = messagesSent.addingClamped(other.messagesSent)
            messagesReceived = messagesReceived.addingClamped(other.messagesReceived)
            bytesSent = bytesSent.addingClamped(other.bytesSent)
            bytesReceived = bytesReceived.addingClamped(other.bytesReceived)
            unconfirmed = unconfirmed.addingClamped(other.unconfirmed)
        }

        mutating func count(_ end: NetworkEvent.SocketDisconnection) {
            disconnections[Self.codeClass(of: end.code), default: 0] += 1
            messagesSent = messagesSent.addingClamped(end.messagesSent)
            messagesReceived = messagesReceived.addingClamped(end.messagesReceived)
            bytesSent = bytesSent.addingClamped(end.bytesSent)
            bytesReceived = bytesReceived.addingClamped(end.bytesReceived)
            unconfirmed = unconfirmed.addingClamped(end.unconfirmed)
        }

        /// The code under which a close code is counted: a server may send any of thousands.
        static func codeClass(of code: Int) -> Int {
            switch code {
            case 1000...1015: code
            case 3000...3999: 3000
            case 4000...4999: 4000
            default: 0
            }
        }

        /// The code, or the class of codes, as a label.
        static func label(of code: Int) -> String {
            switch code {
            case 0: "other"
            case 3000, 4000: "\(code / 1000)xxx"
            default: "\(code)"
            }
        }
    }
}

extension Int {
    /// Adds like the function of `Int64`: a negative count is 0, and the sum does not overflow.
    fileprivate func addingClamped(_ other: Int) -> Int {
        Int(clamping: Int64(self).addingClamped(Int64(other)))
    }
}
