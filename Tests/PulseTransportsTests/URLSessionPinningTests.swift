// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// What Apple's `URLSession` does with challenges, in the parts that run on all platforms. The chain is a given one.
@Suite(.tags(.threads), .throttled, .timeLimit(.minutes(5)))
struct URLSessionPinningTests {
    private static let chain = Array(CertificateFixture.all.prefix(2))
    private static let other = CertificateFixture.all[2]
    private static let space = URLProtectionSpace(
        host: "127.0.0.1", port: 443, protocol: "https", realm: nil,
        authenticationMethod: SessionChallenge.Kind.serverTrustMethod)
    private static let credential = URLCredential(user: "accepted", password: "", persistence: .none)

    private struct Outcome {
        var disposition: URLSession.AuthChallengeDisposition
        var credential: URLCredential?
        /// Nil for a task that continued.
        var error: PulseError?
        var events: [NetworkEvent]
    }

    /// Challenges a running task, whose session has the pins.
    private func challenge(
        _ space: URLProtectionSpace = Self.space, failures: Int = 0, pins: PinSet?, sessionPins: PinnedKeys?,
        evaluation: @escaping SessionDelegate.TrustEvaluation = { _ in
            (URLSessionPinningTests.chain.map(\.der), URLSessionPinningTests.credential)
        }
    ) async throws -> Outcome {
        try await MockServer.run { server in
            server.fallback { _ in .raw([.stall]) }
            let delegate = SessionDelegate(evaluateTrust: evaluation)
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            let task = session.dataTask(with: server.baseURL)
            let sink = Sink()
            let request = TransportRequest(urlRequest: URLRequest(url: server.baseURL), pins: pins, events: sink)
            let run = Task {
                try await delegate.run(task, for: request, pins: sessionPins, into: .memory(limit: 1 << 20))
            }
            try await server.wait { $0.requests.count == 1 }
            let challenge = URLAuthenticationChallenge(
                protectionSpace: space, proposedCredential: nil, previousFailureCount: failures, failureResponse: nil,
                error: nil, sender: Sender())
            let (disposition, credential) = delegate.reaction(to: challenge, of: task)
            delegate.cancel(task)
            let result = await run.result
            delegate.dispose(session)
            guard case .failure(let error) = result else { throw Unexpected() }
            let isCancelled = error is CancellationError
            return Outcome(
                disposition: disposition, credential: credential,
                error: isCancelled ? nil : PulseError(wrapping: error),
                events: sink.events)
        }
    }

    private func challenge(pinning pinned: CertificateFixture, isReportOnly: Bool = false) async throws -> Outcome {
        let pins = PinSet(publicKeyHashes: [pinned.pin], isReportOnly: isReportOnly)
        return try await challenge(pins: pins, sessionPins: try PinnedKeys(pins))
    }

    @Test func aPinnedChainIsAccepted() async throws {
        let outcome = try await challenge(pinning: Self.chain[1])
        #expect(outcome.disposition == .useCredential)
        #expect(outcome.credential?.user == "accepted")
        #expect(outcome.error == nil)
        #expect(outcome.events.isEmpty)
    }

    @Test func aChainWithoutAPinEndsTheTask() async throws {
        let outcome = try await challenge(pinning: Self.other)
        #expect(outcome.disposition == .cancelAuthenticationChallenge)
        #expect(outcome.credential == nil)
        guard case .sslPinningFailed("127.0.0.1") = outcome.error else {
            Issue.record("\(String(describing: outcome.error))")
            return
        }
        #expect(outcome.events.map(Self.seen) == [Self.chain.map(\.pin)])
    }

    @Test func aReportedChainIsAccepted() async throws {
        let outcome = try await challenge(pinning: Self.other, isReportOnly: true)
        #expect(outcome.disposition == .useCredential)
        #expect(outcome.credential?.user == "accepted")
        #expect(outcome.error == nil)
        #expect(outcome.events.map(Self.seen) == [Self.chain.map(\.pin)])
    }

    /// A pin excuses no invalid certificate, not even in report-only mode.
    @Test(arguments: [false, true])
    func anUntrustedChainEndsTheTask(isReportOnly: Bool) async throws {
        let pins = PinSet(publicKeyHashes: [Self.chain[0].pin], isReportOnly: isReportOnly)
        let outcome = try await challenge(pins: pins, sessionPins: try PinnedKeys(pins)) { _ in
            throw TransportFailure.untrusted(status: -67818, underlying: nil)
        }
        #expect(outcome.disposition == .cancelAuthenticationChallenge)
        guard case .transport(.serverCertificateHasBadDate, _) = outcome.error else {
            Issue.record("\(String(describing: outcome.error))")
            return
        }
        #expect(outcome.error?.phase == .beforeSend)
        #expect(outcome.events.isEmpty)
    }

    @Test func aSessionWithoutTheRequestsPinsIsRefused() async throws {
        let pins = PinSet(publicKeyHashes: [Self.chain[0].pin])
        let outcome = try await challenge(pins: pins, sessionPins: nil)
        #expect(outcome.disposition == .cancelAuthenticationChallenge)
        #expect(outcome.error?.kind == .sslPinningFailed)
    }

    @Test func otherChallengesGoByTheirTable() async throws {
        let basic = URLProtectionSpace(
            host: "127.0.0.1", port: 80, protocol: "http", realm: "realm",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        for (space, disposition) in [
            (basic, URLSession.AuthChallengeDisposition.rejectProtectionSpace), (Self.space, .performDefaultHandling),
        ] {
            let outcome = try await challenge(space, pins: nil, sessionPins: nil) { _ in throw Unexpected() }
            #expect(outcome.disposition == disposition)
            #expect(outcome.credential == nil)
            #expect(outcome.error == nil)
        }
    }

    @Test func aTaskThatHasEndedIsNotTrusted() throws {
        let delegate = SessionDelegate { _ in throw Unexpected() }
        let session = URLSession(configuration: .ephemeral)
        let task = session.dataTask(with: try #require(URL(string: "https://127.0.0.1/")))
        let challenge = URLAuthenticationChallenge(
            protectionSpace: Self.space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil,
            error: nil, sender: Sender())
        #expect(delegate.reaction(to: challenge, of: task).0 == .cancelAuthenticationChallenge)
        delegate.dispose(session)
    }

    // MARK: The transport

    private func transport(evaluatesTrust: Bool = true) -> URLSessionTransport {
        URLSessionTransport(
            4, appliesBackpressure: true, makeChannel: { _, _, _, _ in throw Unexpected() },
            evaluatesTrust: evaluatesTrust)
    }

    private func request(_ url: String, mayBeResent: Bool = true, pins: PinSet? = nil) throws -> TransportRequest {
        TransportRequest(
            urlRequest: URLRequest(url: try #require(URL(string: url))), mayBeResent: mayBeResent, pins: pins)
    }

    @Test func requestsWithDifferentPinsShareNoSession() async throws {
        let transport = transport()
        let request = try request("https://127.0.0.1/")
        let pins = try Self.chain.map { try PinnedKeys(PinSet(publicKeyHashes: [$0.pin])) }
        let reported = try PinnedKeys(PinSet(publicKeyHashes: [Self.chain[0].pin], isReportOnly: true))
        let all: [PinnedKeys?] = [nil, pins[0], pins[1], reported]
        let sessions = all.map { transport.session(for: request, $0) }
        #expect(Set(sessions.map(ObjectIdentifier.init)).count == all.count)
        for (pins, session) in zip(all, sessions) {
            #expect(session.pins == pins)
            #expect(transport.session(for: request, pins) === session)
        }
        var fresh = request
        fresh.needsNewConnection = true
        let own = transport.session(for: fresh, pins[0])
        #expect(own !== sessions[1])
        #expect(own.pins == pins[0])
        await transport.shutdown()
    }

    @Test func theNumberOfSessionsIsBounded() async throws {
        let transport = transport()
        let request = try request("https://127.0.0.1/")
        let first = Reference(
            session: transport.session(for: request, try PinnedKeys(PinSet(publicKeyHashes: [Self.other.pin]))))
        #expect(first.session != nil)
        for fixture in CertificateFixture.all.dropFirst(3).prefix(8) {
            _ = transport.session(for: request, try PinnedKeys(PinSet(publicKeyHashes: [fixture.pin])))
        }
        #expect(first.session == nil)
        await transport.shutdown()
    }

    @Test func pinsAreACapabilityWhereTrustIsEvaluated() async throws {
        #expect(transport().capabilities == .pinning)
        let without = transport(evaluatesTrust: false)
        #expect(without.capabilities == [])
        let pinned = try request("https://127.0.0.1/", pins: PinSet(publicKeyHashes: [Self.other.pin]))
        await #expect { try await without.send(pinned) } throws: { PulseError(wrapping: $0).kind == .unsupported }
        var upgrade = pinned
        upgrade.delivery = .upgrade
        let refused = upgrade
        await #expect { try await transport().send(refused) } throws: { PulseError(wrapping: $0).kind == .unsupported }
    }

    @Test func anUnreadablePinnedCertificateFailsBeforeAnythingIsSent() async throws {
        let pins = PinSet(publicKeyHashes: [], certificates: [Data("no certificate".utf8)])
        let pinned = try request("https://127.0.0.1:1/", pins: pins)
        await #expect { try await transport().send(pinned) } throws: {
            PulseError(wrapping: $0).kind == .invalidRequest
        }
    }

    @Test func cleartextHasNoPins() async throws {
        try await MockServer.run { server in
            server.fallback { _ in .text("response") }
            let transport = transport()
            let pins = PinSet(publicKeyHashes: [Self.other.pin])
            let response = try await transport.send(
                TransportRequest(urlRequest: URLRequest(url: server.baseURL), pins: pins))
            #expect(response.data == Data("response".utf8))
            await transport.shutdown()
        }
    }

    @Test(
        arguments: [
            (-67818, .serverCertificateHasBadDate), (-67819, .serverCertificateNotYetValid),
            (-25318, .serverCertificateHasUnknownRoot), (-67843, .serverCertificateUntrusted),
            (-67602, .serverCertificateUntrusted), (nil, .serverCertificateUntrusted),
        ] as [(Int?, URLError.Code)])
    func aFailedEvaluationHasTheCodesOfURLSession(_ status: Int?, _ code: URLError.Code) {
        let failure = TransportFailure.untrusted(status: status, underlying: nil)
        #expect(failure.code == code)
        #expect(failure.phase == .beforeSend)
    }

    private static func seen(_ event: NetworkEvent) -> [String] {
        if case .pinningFailed("127.0.0.1", let seen) = event { seen } else { [] }
    }

    private struct Unexpected: Error {}

    private struct Reference {
        weak var session: SessionLease?
    }

    private final class Sink: EventSink {
        let isActive = true
        private let emitted = Locked<[NetworkEvent]>([])
        var events: [NetworkEvent] { emitted.withLock { $0 } }

        func emit(_ event: NetworkEvent) {
            emitted.withLock { $0.append(event) }
        }
    }

    private final class Sender: NSObject, URLAuthenticationChallengeSender {
        func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
        func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
        func cancel(_ challenge: URLAuthenticationChallenge) {}
        func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
        func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
    }
}
