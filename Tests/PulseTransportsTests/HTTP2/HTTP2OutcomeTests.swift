// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct HTTP2OutcomeTests {
    typealias Progress = HTTP2Outcome.Progress

    /// What the caller gets: `replaces`, `HTTP/1.1`, `cancelled`, or the code, the phase and whether it is stale.
    private static func text(_ cause: HTTP2Outcome.Cause, _ progress: Progress) -> String {
        switch HTTP2Outcome(of: cause, progress) {
        case .replaces: return "replaces"
        case .requiresHTTP1: return "HTTP/1.1"
        case .failed(let error):
            guard let failure = error as? TransportFailure else { return "cancelled" }
            let code =
                switch failure.code {
                case .networkConnectionLost: "lost"
                case .badServerResponse: "bad"
                case .timedOut: "timed out"
                default: "another"
                }
            return "\(code), \(failure.phase)" + (failure.isStaleConnection ? ", stale" : "")
        }
    }

    private static let unsent = Progress()
    private static let unsentOnReused = Progress(isReused: true)
    private static let sent = Progress(isBegun: true)
    private static let sentOnReused = Progress(isBegun: true, isReused: true)
    private static let answered = Progress(isBegun: true, hasHead: true, isReused: true)

    private static let lost = HTTP2Outcome.Cause.lost(
        TransportFailure(code: .networkConnectionLost, phase: .maybeSent))
    private static let broken = HTTP2Outcome.Cause.broken(
        HTTP2Session.Failure(code: .enhanceYourCalm, text: "a flood"))

    private static func reset(_ code: HTTP2Session.ErrorCode, isUnprocessed: Bool = false) -> HTTP2Outcome.Cause {
        .reset(code, isUnprocessed: isUnprocessed)
    }

    @Test func nothingSentIsReplacedOnAReusedConnection() {
        #expect(Self.text(Self.lost, Self.unsentOnReused) == "replaces")
        #expect(Self.text(Self.broken, Self.unsentOnReused) == "replaces")
        #expect(Self.text(Self.reset(.refusedStream, isUnprocessed: true), Self.unsentOnReused) == "replaces")
        #expect(Self.text(Self.lost, Self.unsent) == "lost, beforeSend")
        #expect(Self.text(Self.broken, Self.unsent) == "bad, beforeSend")
    }

    @Test func whatTheServerHasNotProcessedIsStale() {
        for progress in [Self.unsent, Self.sent, Self.sentOnReused] {
            #expect(Self.text(Self.reset(.refusedStream), progress) == "lost, beforeSend, stale")
            #expect(Self.text(Self.reset(.noError, isUnprocessed: true), progress) == "lost, beforeSend, stale")
            #expect(Self.text(Self.reset(.protocolError, isUnprocessed: true), progress) == "lost, beforeSend, stale")
        }
        #expect(Self.text(Self.reset(.refusedStream), Self.answered) == "lost, responseStarted")
    }

    @Test func theServerMayRequireHTTP1() {
        for progress in [Self.unsent, Self.sent, Self.sentOnReused] {
            #expect(Self.text(Self.reset(.http11Required), progress) == "HTTP/1.1")
            #expect(Self.text(Self.reset(.http11Required, isUnprocessed: true), progress) == "HTTP/1.1")
        }
        #expect(Self.text(Self.reset(.http11Required), Self.answered) == "lost, responseStarted")
    }

    @Test func aLostConnectionIsStaleOnlyIfItIsReused() {
        #expect(Self.text(Self.lost, Self.sent) == "lost, maybeSent")
        #expect(Self.text(Self.lost, Self.sentOnReused) == "lost, maybeSent, stale")
        #expect(Self.text(Self.lost, Self.answered) == "lost, responseStarted")
        let other = HTTP2Outcome.Cause.lost(TransportFailure(code: .secureConnectionFailed, phase: .maybeSent))
        #expect(Self.text(other, Self.sentOnReused) == "another, maybeSent")
        #expect(Self.text(.lost(CancellationError()), Self.sent) == "cancelled")
    }

    @Test(
        arguments: [.protocolError, .compressionError, .frameSizeError, .flowControlError, .streamClosed]
            as [HTTP2Session.ErrorCode])
    func malformedMessagesAreBadResponses(code: HTTP2Session.ErrorCode) {
        #expect(Self.text(Self.reset(code), Self.sentOnReused) == "bad, maybeSent")
        #expect(Self.text(Self.reset(code), Self.answered) == "bad, responseStarted")
    }

    @Test(
        arguments: [
            .noError, .internalError, .settingsTimeout, .cancel, .connectError, .enhanceYourCalm, .inadequateSecurity,
            HTTP2Session.ErrorCode(rawValue: 99),
        ] as [HTTP2Session.ErrorCode])
    func otherCodesAreLostConnections(code: HTTP2Session.ErrorCode) {
        #expect(Self.text(Self.reset(code), Self.sentOnReused) == "lost, maybeSent")
        #expect(Self.text(Self.reset(code), Self.answered) == "lost, responseStarted")
    }

    @Test func aBrokenConnectionIsABadResponse() {
        #expect(Self.text(Self.broken, Self.sentOnReused) == "bad, maybeSent")
        #expect(Self.text(Self.broken, Self.answered) == "bad, responseStarted")
    }

    @Test func timeoutsAndCancellationsAreTheClients() {
        #expect(Self.text(.timedOut, Self.unsentOnReused) == "timed out, beforeSend")
        #expect(Self.text(.timedOut, Self.sent) == "timed out, maybeSent")
        #expect(Self.text(.timedOut, Self.answered) == "timed out, responseStarted")
        #expect(Self.text(.closed, Self.unsentOnReused) == "cancelled")
        #expect(Self.text(.closed, Self.answered) == "cancelled")
    }
}
#endif
