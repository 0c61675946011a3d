// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct SocketDisconnectionTests {
    @Test func theTextHasTheFigures() {
        let closed = NetworkEvent.SocketDisconnection(
            code: 1012, reason: "restarts", endedBy: .server, duration: 7.25, messagesSent: 1, messagesReceived: 20,
            bytesSent: 100, bytesReceived: 1)
        #expect(
            "\(closed)" == "closed by the server with 1012 after 7250 ms: sent 1 message in 100 bytes, "
                + "received 20 messages in 1 byte")
        let lost = NetworkEvent.SocketDisconnection(
            code: 1006, error: PulseError.Summary(kind: .transport, message: "cut\nforged"), unconfirmed: 2)
        #expect(
            "\(lost)" == "lost with 1006 after 0 ms: sent 0 messages in 0 bytes, received 0 messages in 0 bytes, "
                + "2 messages unconfirmed: cut\\nforged")
    }

    @Test func aReasonIsMaskedOnOneLineAndBounded() {
        let reason = NetworkEvent.SocketDisconnection(code: 1008, reason: "token=hunter2\r\nforged\u{1B}[2J\u{202E}")
            .reason
        #expect(!reason.contains("hunter2") && reason.hasPrefix("token=\(Redaction.mask)"))
        #expect(!reason.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{202E}" })
        #expect(NetworkEvent.SocketDisconnection(code: 1008, reason: "because").reason == "because")
        let long = NetworkEvent.SocketDisconnection(code: 1008, reason: String(repeating: "é ", count: 5000)).reason
        #expect(long.utf8.count < 300 && long.hasSuffix("…"))
    }

    /// Logs and traces show no text from a server.
    @Test func theTextHasNoReason() {
        #expect(!"\(NetworkEvent.SocketDisconnection(code: 4000, reason: "hunter2"))".contains("hunter2"))
    }

    /// A clock of an application may return anything.
    @Test(arguments: [TimeInterval.nan, .infinity, -1]) func anyDurationHasAText(duration: TimeInterval) {
        #expect("\(NetworkEvent.SocketDisconnection(code: 1000, duration: duration))".contains("after"))
    }
}
