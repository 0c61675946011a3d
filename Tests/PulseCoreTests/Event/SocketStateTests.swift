// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct SocketStateTests {
    @Test(
        arguments: [
            (.idle, "idle"), (.connecting(attempt: 2), "connecting, attempt 2"),
            (.open(subprotocol: nil), "open"), (.open(subprotocol: "chat"), "open, subprotocol chat"),
            (
                .reconnecting(after: .noConnection, attempt: 3, delay: 0.25, unconfirmed: 0),
                "attempt 3 in 250 ms: \(PulseError.noConnection.summary)"
            ),
            (
                .reconnecting(after: .noConnection, attempt: 1, delay: 2, unconfirmed: 4),
                "attempt 1 in 2000 ms, 4 messages unconfirmed: \(PulseError.noConnection.summary)"
            ),
            (.closing, "closing"), (.closed(nil), "closed"),
            (.closed(.noConnection), "closed: \(PulseError.noConnection.summary)"),
        ] as [(SocketState, String)])
    func theTextNamesTheState(state: SocketState, text: String) {
        #expect("\(state)" == text)
    }

    /// The same texts as in the other events of errors.
    @Test func theTextHasNoQueryBodyOrTextOfTheServer() throws {
        let request = URLRequest(url: try #require(URL(string: "https://api.example.com/chat?key=hunter2")))
        let response = PulseResponse(statusCode: 403, data: Data("hunter2".utf8), request: request)
        for error in [PulseError.http(response), .socketClosed(code: 4000, reason: "hunter2\n")] {
            for state in [
                SocketState.closed(error), .reconnecting(after: error, attempt: 1, delay: 0, unconfirmed: 0),
            ] {
                #expect(!"\(state)".contains("hunter2") && !"\(state)".contains("\n"), "\(state)")
            }
        }
    }

    @Test func theTextIsOneLine() {
        #expect(!"\(SocketState.open(subprotocol: "a\r\nb"))".contains("\n"))
    }
}
