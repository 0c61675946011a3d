// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct SOCKSDialogTests {
    private static let ada = ConnectionRoute.Credentials(username: "ada", password: "pw")
    private static let credentials: [UInt8] = [1, 3, 0x61, 0x64, 0x61, 2, 0x70, 0x77]
    private static let request: [UInt8] = [5, 1, 0, 3, 6] + Array("a.test".utf8) + [0x01, 0xBB]
    private static let success: [UInt8] = [5, 0, 0, 1, 127, 0, 0, 1, 0, 80]

    struct Case: Sendable {
        var credentials: ConnectionRoute.Credentials?
        var received: [UInt8]
        /// What is sent behind the greeting.
        var sent: [UInt8] = []
        var failure: SOCKSDialog.Failure?
    }

    private static let cases: [Case] = [
        Case(received: [5, 0] + success, sent: request),
        Case(received: [5, 0, 5, 0, 0, 4] + Array(repeating: 9, count: 18), sent: request),
        Case(received: [5, 0, 5, 0, 0, 3, 3] + Array("abc".utf8) + [0, 1], sent: request),
        Case(received: [5, 0, 5, 0, 0, 3, 0, 0, 1], sent: request),
        Case(credentials: ada, received: [5, 0] + success, sent: request),
        Case(credentials: ada, received: [5, 2, 1, 0] + success, sent: credentials + request),
        Case(credentials: ada, received: [5, 2, 1, 1], sent: credentials, failure: .refused(.socksCredentials)),
        Case(credentials: ada, received: [5, 0xFF], failure: .refused(.socksCredentials)),
        Case(received: [5, 2], failure: .refused(.socksCredentials)),
        Case(received: [5, 0, 5, 1], sent: request, failure: .refused(.socksReply(1))),
        Case(received: [5, 0, 5, 8], sent: request, failure: .refused(.socksReply(8))),
        Case(received: [5, 0, 5, 9], sent: request, failure: .refused(.unknown)),
        Case(received: [4, 0], failure: .invalid("the proxy does not speak SOCKS5")),
        Case(received: Array("HTTP".utf8), failure: .invalid("the proxy does not speak SOCKS5")),
        Case(received: [5, 0, 4, 0], sent: request, failure: .invalid("the proxy does not speak SOCKS5")),
        Case(
            received: [5, 0, 5, 0, 0, 2, 0, 0, 0, 0], sent: request,
            failure: .invalid("the proxy's reply has an unknown kind of address")),
    ]

    /// Feeds the pieces. Returns what is sent, whether the dialog is complete, and its failure.
    private static func play(_ testCase: Case, _ pieces: [[UInt8]]) throws -> ([UInt8], Bool, SOCKSDialog.Failure?) {
        var dialog = try SOCKSDialog(to: "a.test", port: 443, testCase.credentials)
        var sent: [UInt8] = []
        for piece in pieces {
            do {
                sent += try dialog.read(Data(piece))
            } catch let failure as SOCKSDialog.Failure {
                return (sent, dialog.isComplete, failure)
            }
        }
        return (sent, dialog.isComplete, nil)
    }

    /// A failure takes the messages of its own piece with it, since the dialog is over.
    @Test(arguments: cases)
    func theBytesMayBeSplitAnywhere(testCase: Case) throws {
        let bytes = testCase.received
        for split in 0...bytes.count {
            let (sent, isComplete, failure) = try Self.play(testCase, [Array(bytes[..<split]), Array(bytes[split...])])
            #expect(failure == testCase.failure && isComplete == (failure == nil))
            if failure == nil { #expect(sent == testCase.sent) }
        }
        let (sent, isComplete, failure) = try Self.play(testCase, bytes.map { [$0] })
        #expect(sent == testCase.sent && failure == testCase.failure && isComplete == (failure == nil))
    }

    @Test func aReplyIsIncompleteUntilItsLastByte() throws {
        for testCase in Self.cases where testCase.failure == nil {
            for count in testCase.received.indices {
                let (_, isComplete, failure) = try Self.play(testCase, [Array(testCase.received[..<count])])
                #expect(!isComplete && failure == nil)
            }
        }
    }

    @Test func bytesBehindTheReplyAreRefused() throws {
        let testCase = Case(received: [5, 0] + Self.success + [0])
        #expect(try Self.play(testCase, [testCase.received]).2 == .invalid("the proxy sent bytes behind its reply"))
    }

    @Test func theMethodsAreThoseThatCanBeUsed() throws {
        #expect(try SOCKSDialog(to: "a.test", port: 1).greeting == [5, 1, 0])
        #expect(try SOCKSDialog(to: "a.test", port: 1, Self.ada).greeting == [5, 2, 0, 2])
    }

    @Test(
        arguments: [
            ("10.0.0.1", [1, 10, 0, 0, 1]), ("::1", [4] + Array(repeating: 0, count: 15) + [1]),
            ("b.test", [3, 6] + Array("b.test".utf8)),
        ] as [(String, [UInt8])])
    func aHostIsSentAsAddressOrName(host: String, field: [UInt8]) throws {
        var dialog = try SOCKSDialog(to: host, port: 0x1234)
        #expect(try dialog.read(Data([5, 0])) == [5, 1, 0] + field + [0x12, 0x34])
    }

    @Test func whatDoesNotFitIsRefusedUnsent() throws {
        let (fits, long) = (String(repeating: "a", count: 255), String(repeating: "a", count: 256))
        _ = try SOCKSDialog(to: fits, port: 1, .init(username: fits, password: fits))
        #expect(throws: SOCKSDialog.Failure.self) { try SOCKSDialog(to: long, port: 1) }
        #expect(throws: SOCKSDialog.Failure.self) {
            try SOCKSDialog(to: fits, port: 1, .init(username: long, password: ""))
        }
        #expect(throws: SOCKSDialog.Failure.self) {
            try SOCKSDialog(to: fits, port: 1, .init(username: "", password: long))
        }
    }
}
#endif
