// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseSockets

/// When a socket connects, waits and ends; without a wire.
@Suite(.throttled)
struct SocketStateMachineTests {
    private static let lost = SocketStateMachine.End.lost(.lostMaybeSent)

    /// A machine that was open for that many seconds.
    private static func opened(_ options: SocketOptions = SocketOptions()) -> SocketStateMachine {
        var machine = SocketStateMachine(options)
        _ = machine.connect()
        _ = machine.opened(at: 0)
        return machine
    }

    private static func text(_ action: SocketStateMachine.Action) -> String {
        switch action {
        case .connect(let attempt): "connect \(attempt)"
        case .wait(let seconds, _, let attempt): "wait \(seconds), \(attempt)"
        case .rest: "rest"
        case .finish(let error): "finish" + (error.map { " \($0.summary)" } ?? "")
        }
    }

    @Test func aFirstAttemptThatFailsLeavesTheSocketIdle() {
        var machine = SocketStateMachine(SocketOptions())
        #expect(Self.text(machine.connect()) == "connect 1")
        #expect(Self.text(machine.ended(Self.lost, at: 1, unit: 0)) == "rest")
        #expect(Self.text(machine.connect()) == "connect 1")
    }

    @Test func aKeptSocketTriesAgainBeforeItWasOpen() {
        var machine = SocketStateMachine(SocketOptions())
        _ = machine.connect()
        machine.keep()
        #expect(Self.text(machine.ended(Self.lost, at: 1, unit: 0)) == "wait 2.0, 2")
        #expect(Self.text(machine.waited()) == "connect 2")
        #expect(Self.text(machine.ended(.lost(.unsupported("a")), at: 1, unit: 0)).hasPrefix("finish"))
    }

    @Test func aGreetingThatClosesIsJudgedByItsCode() {
        for (code, isFinal) in [(1008, true), (4000, false)] {
            var machine = Self.opened()
            let end = SocketStateMachine.End.lost(.socketClosed(code: code, reason: ""))
            #expect(Self.text(machine.ended(end, at: 1, unit: 0)).hasPrefix("finish") == isFinal)
        }
    }

    /// U(0.5, 1) × min(maxDelay, 2ⁿ).
    @Test func theWaitsGrowUpToTheCap() {
        for (unit, expected) in [(0.0, [1.0, 2, 4, 8, 15, 15, 15]), (1.0, [2, 4, 8, 16, 30, 30, 30])] {
            var machine = Self.opened()
            var waits: [TimeInterval] = []
            for attempt in 1...7 {
                guard case .wait(let seconds, _, attempt) = machine.ended(Self.lost, at: 1, unit: unit) else {
                    Issue.record("no wait for attempt \(attempt)")
                    return
                }
                waits.append(seconds)
                #expect(Self.text(machine.waited()) == "connect \(attempt)")
            }
            #expect(waits == expected)
        }
    }

    @Test func theServersWaitIsKept() {
        var machine = Self.opened()
        #expect(Self.text(machine.ended(Self.lost, at: 1, retryAfter: 100, unit: 0.5)) == "wait 100.0, 1")
        _ = machine.waited()
        #expect(Self.text(machine.ended(Self.lost, at: 1, retryAfter: 1, unit: 1)) == "wait 4.0, 2")
        _ = machine.waited()
        #expect(Self.text(machine.ended(Self.lost, at: 1, retryAfter: .infinity, unit: 1)) == "wait 8.0, 3")
        _ = machine.waited()
        #expect(Self.text(machine.ended(Self.lost, at: 1, retryAfter: 0x1p63, unit: 1)) == "wait 3600.0, 4")
    }

    @Test(arguments: [(9.9, 2), (10, 1)])
    func aSteadyConnectionStartsAgainWithShortWaits(open: Double, attempt: Int) {
        var machine = Self.opened()
        _ = machine.ended(Self.lost, at: 1, unit: 0)
        _ = machine.waited()
        _ = machine.opened(at: 2)
        #expect(Self.text(machine.ended(Self.lost, at: 2 + open, unit: 0)) == "wait \(attempt).0, \(attempt)")
    }

    @Test func theAttemptsAreLimited() {
        var machine = Self.opened(SocketOptions(reconnect: ReconnectPolicy(maxAttempts: 2)))
        for attempt in 1...2 {
            #expect(Self.text(machine.ended(Self.lost, at: 1, unit: 0)) == "wait \(attempt).0, \(attempt)")
            _ = machine.waited()
        }
        #expect(Self.text(machine.ended(Self.lost, at: 1, unit: 0)).hasPrefix("finish"))
        var never = Self.opened(SocketOptions(reconnect: .never))
        #expect(Self.text(never.ended(Self.lost, at: 1, unit: 0)).hasPrefix("finish"))
    }

    @Test(arguments: [1000, 1001, 1002, 1003, 1005, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 3000, 4999])
    func fatalCodesEnd(code: Int) {
        let isFatal = [1000, 1002, 1003, 1007, 1008, 1009, 1010].contains(code)
        for end in [
            SocketStateMachine.End.closedByPeer(SocketClose(code: code)), .failed(SocketFault(code: code, reason: "")),
        ] {
            var machine = Self.opened()
            #expect(Self.text(machine.ended(end, at: 1, unit: 0)).hasPrefix("finish") == isFatal)
            var own = Self.opened(SocketOptions(fatalCodes: [code]))
            #expect(Self.text(own.ended(end, at: 1, unit: 0)).hasPrefix("finish"))
        }
    }

    @Test func failuresThatStayEnd() {
        func response(_ status: Int) -> PulseError {
            .http(PulseResponse(statusCode: status, request: URLRequest(url: URL(fileURLWithPath: "/"))))
        }
        func failure(_ code: URLError.Code) -> PulseError {
            PulseError(wrapping: TransportFailure(code: code, phase: .beforeSend))
        }
        let final: [PulseError] =
            [400, 401, 403, 404, 410, 426, 499].map(response) + [
                .unauthorized(), .sessionExpired, .sslPinningFailed(host: "a"), .unsupported("a"),
                .invalidRequest(reason: "a"), .invalidURL("a"), failure(.serverCertificateUntrusted),
                failure(.serverCertificateHasBadDate), failure(.clientCertificateRejected),
                .retryExhausted(last: response(403), attempts: 3),
            ]
        let passing: [PulseError] =
            [200, 302, 408, 425, 429, 500, 502, 503].map(response) + [
                .rateLimited(retryAfter: nil), .noConnection, failure(.networkConnectionLost), failure(.timedOut),
                failure(.cannotFindHost), failure(.badServerResponse), failure(.secureConnectionFailed),
                .circuitOpen(name: "a", retryAfter: 1), .deadlineExceeded(last: nil),
                .retryExhausted(last: response(503), attempts: 3),
            ]
        for (errors, isFinal) in [(final, true), (passing, false)] {
            for error in errors {
                var machine = Self.opened()
                _ = machine.ended(Self.lost, at: 1, unit: 0)
                _ = machine.waited()
                #expect(
                    Self.text(machine.ended(.lost(error), at: 1, unit: 0)).hasPrefix("finish") == isFinal,
                    "\(error.summary)")
            }
        }
    }

    /// `close` never reconnects, whenever it comes.
    @Test func aClosedSocketStaysClosed() {
        var open = Self.opened()
        var isOpen = open.close()
        #expect(isOpen)
        #expect(Self.text(open.ended(Self.lost, at: 1, unit: 0)) == "finish")
        var connecting = SocketStateMachine(SocketOptions())
        _ = connecting.connect()
        isOpen = connecting.close()
        #expect(!isOpen)
        isOpen = connecting.opened(at: 1)
        #expect(!isOpen)
        #expect(Self.text(connecting.ended(Self.lost, at: 1, unit: 0)) == "finish")
        var waiting = Self.opened()
        _ = waiting.ended(Self.lost, at: 1, unit: 0)
        isOpen = waiting.close()
        #expect(!isOpen)
        #expect(Self.text(waiting.waited()) == "finish")
    }
}
