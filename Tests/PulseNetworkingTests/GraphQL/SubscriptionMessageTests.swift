// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseGraphQL

@Suite(.throttled)
struct SubscriptionMessageTests {
    private static func text(_ message: SocketMessage) -> String {
        do {
            switch try SubscriptionMessage(message) {
            case .acknowledgement: return "ack"
            case .next(let id, let payload): return "next \(id) \(String(decoding: payload, as: UTF8.self))"
            case .error(let id, let errors): return "error \(id) \(errors.map(\.message))"
            case .complete(let id): return "complete \(id)"
            case .ping: return "ping"
            case .pong: return "pong"
            }
        } catch {
            return "fault: \(error.reason)"
        }
    }

    @Test(arguments: [
        (#"{"type":"connection_ack"}"#, "ack"), (#"{"type":"connection_ack","payload":{"a":1}}"#, "ack"),
        (#" { "payload" : { "data" : null } , "id" : "7", "type" : "next" } "#, #"next 7 { "data" : null }"#),
        (#"{"type":"next","id":"é\"","payload":{}}"#, #"next é" {}"#),
        (#"{"type":"error","id":"1","payload":[{"message":"no","path":["a",0]}]}"#, #"error 1 ["no"]"#),
        (#"{"type":"complete","id":"1","payload":null}"#, "complete 1"),
        (#"{"type":"ping","payload":{"a":1}}"#, "ping"),
        (#"{"type":"pong"}"#, "pong"), ("", "fault: no JSON object"), ("[]", "fault: no JSON object"),
        (#"{"type":"next","id":"1","payload":{}} x"#, "fault: no JSON object"),
        (#"{"type":"next","id":"1","payload":{}"#, "fault: no JSON object"), ("{}", "fault: no type"),
        (#"{"type":1}"#, "fault: no type"), (#"{"type":"NEXT","id":"1"}"#, "fault: an unknown type"),
        (#"{"type":"next","payload":{}}"#, "fault: no id"), (#"{"type":"complete","id":""}"#, "fault: no id"),
        (#"{"type":"complete","id":7}"#, "fault: no id"),
        (#"{"type":"next","id":"1"}"#, "fault: next without a payload"),
        (#"{"type":"next","id":"1","payload":"{}"}"#, "fault: next without a payload"),
        (#"{"type":"error","id":"1","payload":[]}"#, #"error 1 [""]"#),
        (#"{"type":"error","id":"1","payload":[1,"a",{"message":7}]}"#, #"error 1 ["", "a", ""]"#),
        (#"{"type":"error","id":"1","payload":{"message":"no"}}"#, #"error 1 ["no"]"#),
        (#"{"type":"error","id":"1"}"#, #"error 1 [""]"#),
    ])
    func messagesAreRead(text: String, expected: String) {
        #expect(Self.text(.text(text)) == expected)
    }

    @Test func binaryMessagesAreNone() {
        #expect(Self.text(.binary(Data(#"{"type":"ping"}"#.utf8))) == "fault: a binary message")
    }

    /// No text traps, and none but the whole is a message.
    @Test func everyTruncationIsAFault() {
        let text = #"{"id":"12","type":"next","payload":{"data":{"a":"}\"é"},"errors":[{"message":"m"}]}}"#
        for count in 0..<text.count {
            #expect(Self.text(.text(String(text.prefix(count)))).hasPrefix("fault"), "\(count)")
        }
    }

    @Test func messagesAreWritten() throws {
        #expect(try SocketMessage.initialization(nil) == .text(#"{"type":"connection_init"}"#))
        #expect(
            try SocketMessage.initialization(["a": "b"]) == .text(#"{"type":"connection_init","payload":{"a":"b"}}"#))
        #expect(
            SocketMessage.subscribe(id: 3, Data(#"{"query":"q"}"#.utf8))
                == .text(#"{"type":"subscribe","id":"3","payload":{"query":"q"}}"#))
        #expect(SocketMessage.complete(id: 3) == .text(#"{"type":"complete","id":"3"}"#))
        #expect(SocketMessage.pong == .text(#"{"type":"pong"}"#))
    }
}
