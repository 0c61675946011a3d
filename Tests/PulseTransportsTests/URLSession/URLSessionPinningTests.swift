// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// What Apple's `URLSession` does with challenges, in the parts that run on all platforms. The chain is a given one.
@Suite(.tags(.threads), .throttled)
struct URLSessionPinningTests {
    private static let chain = Array(CertificateFixture.all.prefix(2))
    private static let other = CertificateFixture.all[2]
    private static let space = URLProtectionSpace(
        host: "127.0.0.1", port: 443, protocol: "https", realm: nil,
        authenticationMethod: SessionChallenge.Kind.serverTrustMethod)
    private static let certificateSpace = URLProtectionSpace(
        host: "127.0.0.1", port: 443, protocol: "https", realm: nil,
        authenticationMethod: SessionChallenge.Kind.clientCertificateMethod)
    private static let credential = URLCredential(user: "accepted", password: "", persistence: .none)

    private typealias Evaluation = @Sendable (URLAuthenticationChallenge, [Data]) throws -> ([Data], URLCredential)

    private static func security(
        _ evaluation: @escaping Evaluation = { _, _ in throw Unexpected() }
    ) -> SessionSecurity {
        SessionSecurity(
            evaluateTrust: { try evaluation($0, $1) },
            identity: { certificate in
                guard certificate.password == "secret" else {
                    let problem = TLSSettings.ClientCertificate.importProblem(status: -25293, hasIdentity: false)
                    throw TLSSettings.ClientCertificate.unusable(problem ?? "")
                }
                return URLCredential(user: "identity", password: "", persistence: .forSession)
            },
            countReadable: { $0.count })
    }

    private static func credentials(pins: SSLPinningPolicy.PinSet? = nil, tls: TLSSettings = .default) throws
        -> SessionCredentials
    {
        let url = try #require(URL(string: "https://127.0.0.1/"))
        let request = TransportRequest(urlRequest: URLRequest(url: url), pins: pins, tls: tls)
        return try SessionCredentials(SessionSettings(request, isSecure: true), security())
    }

    private struct Outcome {
        var disposition: URLSession.AuthChallengeDisposition
        var credential: URLCredential?
        /// Nil for a task that continued.
        var error: PulseError?
        var events: [NetworkEvent]
    }

    /// Challenges a running task, whose session has the pins.
    private func challenge(
        _ space: URLProtectionSpace = Self.space, failures: Int = 0, pins: SSLPinningPolicy.PinSet? = nil,
        tls: TLSSettings = .default,
        proxy: ProxySettings = .environment, _ credentials: SessionCredentials,
        evaluation: @escaping Evaluation = { _, _ in
            (URLSessionPinningTests.chain.map(\.der), URLSessionPinningTests.credential)
        }
    ) async throws -> Outcome {
        try await MockServer.run { server in
            server.fallback { _ in .raw([.stall]) }
            let delegate = SessionDelegate(Self.security(evaluation))
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            let task = session.dataTask(with: server.baseURL)
            let sink = Sink()
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), pins: pins, tls: tls, proxy: proxy, events: sink)
            let run = Task {
                try await delegate.run(task, for: request, credentials, into: .memory(limit: 1 << 20))
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
        let pins = SSLPinningPolicy.PinSet(publicKeyHashes: [pinned.pin], isReportOnly: isReportOnly)
        return try await challenge(pins: pins, try Self.credentials(pins: pins))
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
        let pins = SSLPinningPolicy.PinSet(publicKeyHashes: [Self.chain[0].pin], isReportOnly: isReportOnly)
        let outcome = try await challenge(pins: pins, try Self.credentials(pins: pins)) { _, _ in
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
        let pins = SSLPinningPolicy.PinSet(publicKeyHashes: [Self.chain[0].pin])
        let outcome = try await challenge(pins: pins, SessionCredentials())
        #expect(outcome.disposition == .cancelAuthenticationChallenge)
        #expect(outcome.error?.kind == .sslPinningFailed)
    }

    @Test func otherChallengesGoByTheirTable() async throws {
        let basic = URLProtectionSpace(
            host: "127.0.0.1", port: 80, protocol: "http", realm: "realm",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        for (space, disposition) in [
            (basic, URLSession.AuthChallengeDisposition.rejectProtectionSpace), (Self.space, .performDefaultHandling),
            (Self.certificateSpace, .useCredential),
        ] {
            let outcome = try await challenge(space, SessionCredentials()) { _, _ in throw Unexpected() }
            #expect(outcome.disposition == disposition)
            #expect(outcome.credential == nil)
            #expect(outcome.error == nil)
        }
    }

    @Test func aTaskThatHasEndedIsNotTrusted() throws {
        let delegate = SessionDelegate(Self.security { _, _ in throw Unexpected() })
        let session = URLSession(configuration: .ephemeral)
        let task = session.dataTask(with: try #require(URL(string: "https://127.0.0.1/")))
        let challenge = URLAuthenticationChallenge(
            protectionSpace: Self.space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil,
            error: nil, sender: Sender())
        #expect(delegate.reaction(to: challenge, of: task).0 == .cancelAuthenticationChallenge)
        delegate.dispose(session)
    }

    // MARK: The transport

    private func transport(_ security: SessionSecurity? = Self.security()) -> URLSessionTransport {
        URLSessionTransport(
            4, appliesBackpressure: true, makeChannel: { _ in throw Unexpected() }, security: security)
    }

    private func request(
        _ url: String = "https://127.0.0.1/", mayBeResent: Bool = true, pins: SSLPinningPolicy.PinSet? = nil,
        tls: TLSSettings = .default, proxy: ProxySettings = .environment
    ) throws -> TransportRequest {
        TransportRequest(
            urlRequest: URLRequest(url: try #require(URL(string: url))), mayBeResent: mayBeResent, pins: pins,
            tls: tls, proxy: proxy)
    }

    private static func pins(_ fixture: CertificateFixture, isReportOnly: Bool = false) -> SSLPinningPolicy.PinSet {
        SSLPinningPolicy.PinSet(publicKeyHashes: [fixture.pin], isReportOnly: isReportOnly)
    }

    @Test func requestsWithDifferentSettingsShareNoSession() async throws {
        let transport = transport()
        let proxy = ProxySettings.http(host: "127.0.0.2", port: 3128)
        let requests = [
            try request(), try request(pins: Self.pins(Self.chain[0])), try request(pins: Self.pins(Self.chain[1])),
            try request(pins: Self.pins(Self.chain[0], isReportOnly: true)),
            try request(tls: TLSSettings(minimumVersion: .tls13)),
            try request(tls: TLSSettings(certificateAuthorities: [Self.other.der])),
            try request(tls: TLSSettings(clientCertificate: .init(pkcs12: Data([1]), password: "secret"))),
            try request(tls: TLSSettings(clientCertificate: .init(pkcs12: Data([2]), password: "secret"))),
            try request(proxy: proxy), try request("http://127.0.0.1/", proxy: proxy),
            try request(proxy: proxy.credentials(username: "user", password: "secret")),
        ]
        let settings = try requests.map { try SessionSettings($0, isSecure: $0.urlRequest.url?.scheme == "https") }
        // The second request comes before the first session is dropped.
        let sessions = try zip(requests, settings).map { request, settings in
            let session = try transport.session(for: request, settings)
            #expect(try transport.session(for: request, settings) === session)
            return session
        }
        #expect(Set(sessions.map(ObjectIdentifier.init)).count == requests.count)
        for (index, session) in sessions.enumerated() {
            #expect(session.credentials.pins == settings[index].pins)
        }
        var fresh = requests[1]
        fresh.needsNewConnection = true
        let own = try transport.session(for: fresh, settings[1])
        #expect(own !== sessions[1])
        #expect(own.credentials.pins == settings[1].pins)
        await transport.shutdown()
    }

    @Test func streamsHaveASessionWithoutALimitUnlessTheAppSetsOne() async throws {
        var streamed = try request()
        streamed.delivery = .streamed
        func limits(_ transport: URLSessionTransport) throws -> [Int] {
            try [request(), streamed].map { request in
                let session = try transport.session(for: request, SessionSettings(request, isSecure: true)).session
                return session.configuration.httpMaximumConnectionsPerHost
            }
        }
        let transport = transport()
        #expect(try limits(transport) == [4, 65_535])
        await transport.shutdown()
        let limited = URLSessionTransport(
            4, appliesBackpressure: true, makeChannel: nil, security: Self.security(),
            configure: { $0.httpMaximumConnectionsPerHost = 2 })
        #expect(try limits(limited) == [2, 2])
        await limited.shutdown()
    }

    @Test @HeavyWork func concurrentFirstRequestsShareOneSession() throws {
        let transport = transport()
        let tls = TLSSettings(clientCertificate: .init(pkcs12: Data([1]), password: "secret"))
        let request = try request(pins: Self.pins(Self.other), tls: tls)
        let settings = try SessionSettings(request, isSecure: true)
        let leases = Locked<[SessionLease]>([])
        DispatchQueue.concurrentPerform(iterations: 16) { _ in
            guard let lease = try? transport.session(for: request, settings) else { return }
            leases.withLock { $0.append(lease) }
        }
        #expect(leases.withLock { $0 }.count == 16)
        #expect(Set(leases.withLock { $0 }.map(ObjectIdentifier.init)).count == 1)
        #expect(leases.withLock { $0 }.allSatisfy { $0.credentials.certificates.identity != nil })
    }

    @Test func cleartextHasTheProxyAlone() throws {
        let proxy = ProxySettings.http(host: "127.0.0.2", port: 3128)
        let secured = try request(
            pins: Self.pins(Self.other), tls: TLSSettings(certificateAuthorities: [Self.other.der]), proxy: proxy)
        #expect(
            try SessionSettings(secured, isSecure: false)
                == SessionSettings(try request("http://127.0.0.1/", proxy: proxy), isSecure: false))
        #expect(try SessionSettings(secured, isSecure: false) != SessionSettings(try request(), isSecure: false))
    }

    @Test func anExcludedHostIsReachedDirectly() throws {
        let proxy = ProxySettings.http(host: "proxy", port: 3128).excluding(".example.com", "127.0.0.1")
        for url in ["https://127.0.0.1/", "https://api.EXAMPLE.com/"] {
            #expect(try SessionSettings(request(url, proxy: proxy), isSecure: true).proxy == .direct)
        }
        #expect(try SessionSettings(request("https://127.0.0.3/", proxy: proxy), isSecure: true).proxy == proxy)
    }

    @Test func theNumberOfSessionsIsBounded() async throws {
        let transport = transport()
        func session(_ fixture: CertificateFixture) throws -> SessionLease {
            let request = try request(pins: Self.pins(fixture))
            return try transport.session(for: request, SessionSettings(request, isSecure: true))
        }
        let first = Reference(session: try session(Self.other))
        #expect(first.session != nil)
        for fixture in CertificateFixture.all.dropFirst(3).prefix(8) { _ = try session(fixture) }
        #expect(first.session == nil)
        await transport.shutdown()
    }

    @Test func settingsAreACapabilityWhereThereIsASecurityLibrary() async throws {
        #expect(transport().capabilities.isSuperset(of: [.pinning, .tls, .proxy, .noConnectTimeout]))
        #expect(SessionProxy.hasConfigurations == false)
        let without = transport(nil)
        #expect(without.capabilities.isDisjoint(with: [.pinning, .tls, .proxy]))
        let refused = [
            try request(pins: Self.pins(Self.other)), try request(tls: TLSSettings(minimumVersion: .tls13)),
            try request(proxy: .direct),
        ]
        for request in refused {
            await #expect { try await without.send(request) } throws: { PulseError(wrapping: $0).kind == .unsupported }
        }
    }

    @Test func unreadableCertificatesFailBeforeAnythingIsSent() async throws {
        let text = Data("no certificate".utf8)
        let client = TLSSettings.ClientCertificate(pkcs12: text, password: "wrong")
        let cases: [(TransportRequest, String)] = [
            (
                try request(pins: SSLPinningPolicy.PinSet(publicKeyHashes: [], certificates: [text])),
                "pinned certificate"
            ),
            (try request(tls: TLSSettings(certificateAuthorities: [text])), "`certificateAuthorities`"),
            (try request(tls: TLSSettings(certificateAuthorities: [Data()])), "`certificateAuthorities`"),
            (try request(tls: TLSSettings(clientCertificate: client)), "the password is wrong"),
        ]
        for (request, words) in cases {
            var upgrade = request
            upgrade.delivery = .upgrade
            upgrade.urlRequest.setValue("websocket", forHTTPHeaderField: "Upgrade")
            upgrade.urlRequest.setValue("Upgrade", forHTTPHeaderField: "Connection")
            for request in [request, upgrade] {
                await #expect { try await transport().send(request) } throws: { error in
                    guard case .invalidRequest(let reason) = PulseError(wrapping: error) else { return false }
                    return reason.contains(words)
                }
            }
        }
        var unread = Self.security()
        unread.countReadable = { $0.count - 1 }
        let unreadable = unread
        await #expect {
            try await transport(unreadable).send(
                try request(tls: TLSSettings(certificateAuthorities: [Self.other.der])))
        } throws: {
            PulseError(wrapping: $0).kind == .invalidRequest
        }
    }

    @Test func certificatesAreImportedOnceForTheSameSettings() throws {
        let imports = Locked(0)
        var security = Self.security()
        security.identity = { _ in
            imports.withLock { $0 += 1 }
            return Self.credential
        }
        let tls = ["secret", "other"].map {
            TLSSettings(clientCertificate: TLSSettings.ClientCertificate(pkcs12: Data([1]), password: $0))
        }
        for index in [0, 0, 1, 1, 0] { #expect(try security.certificates(of: tls[index]).identity != nil) }
        #expect(imports.withLock { $0 } == 3)
        // A failure is not kept.
        let failing = Self.security()
        for _ in 0..<2 { #expect(throws: PulseError.self) { try failing.certificates(of: tls[1]) } }
        #expect(try failing.certificates(of: tls[0]).identity != nil)
    }

    /// An import derives a key, and may change the system's keychain.
    @Test @HeavyWork func concurrentFirstRequestsImportACertificateOnce() {
        for _ in 0..<20 {
            let imports = Locked(0)
            var security = Self.security()
            security.identity = { _ in
                imports.withLock { $0 += 1 }
                for _ in 0..<100 { sched_yield() }
                return Self.credential
            }
            let shared = security
            let tls = TLSSettings(
                clientCertificate: TLSSettings.ClientCertificate(pkcs12: Data([1]), password: "secret"))
            DispatchQueue.concurrentPerform(iterations: 8) { _ in
                #expect((try? shared.certificates(of: tls).identity) != nil)
            }
            #expect(imports.withLock { $0 } == 1)
        }
    }

    @Test func aSessionKeepsNoStateOfItsOwn() {
        let configuration = URLSessionConfiguration.default
        configuration.keepNoState()
        #expect(configuration.urlCache == nil && configuration.requestCachePolicy == .reloadIgnoringLocalCacheData)
        #expect(configuration.httpCookieStorage == nil && !configuration.httpShouldSetCookies)
        #expect(configuration.httpCookieAcceptPolicy == .never)
        #expect(configuration.urlCredentialStorage == nil)
    }

    // MARK: Responses without a check

    /// Sends through a session that was never challenged, as one whose connection the system has resumed.
    private func unchecked(
        pins: SSLPinningPolicy.PinSet? = nil, tls: TLSSettings = .default, isChecked: Bool = false
    ) async throws -> (result: Result<PulseResponse, any Error>, events: [NetworkEvent]) {
        try await MockServer.run { server in
            server.fallback { _ in .text("response") }
            let delegate = SessionDelegate(Self.security())
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            let credentials = try Self.credentials(pins: pins, tls: tls)
            if isChecked { credentials.noteCheck() }
            let sink = Sink()
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), pins: pins, tls: tls, events: sink)
            let run = Task {
                try await delegate.run(
                    session.dataTask(with: server.baseURL), for: request, credentials, into: .memory(limit: 1 << 20))
            }
            let result = await run.result
            delegate.dispose(session)
            return (result, sink.events)
        }
    }

    @Test func aResponseWithoutACheckIsRefused() async throws {
        let pins = Self.pins(Self.other)
        let pinned = try await unchecked(pins: pins)
        #expect { try pinned.result.get() } throws: { PulseError(wrapping: $0).kind == .sslPinningFailed }
        #expect(pinned.events.map(Self.seen) == [[]])
        let trusting = try await unchecked(tls: TLSSettings(certificateAuthorities: [Self.other.der]))
        #expect { try trusting.result.get() } throws: {
            if case .transport(.serverCertificateUntrusted, _) = PulseError(wrapping: $0) { true } else { false }
        }
        let reported = try await unchecked(pins: Self.pins(Self.other, isReportOnly: true))
        #expect(try reported.result.get().statusCode == 200)
        #expect(reported.events.count == 1)
        #expect(try await unchecked(pins: pins, isChecked: true).result.get().statusCode == 200)
        #expect(try await unchecked().result.get().statusCode == 200)
    }

    /// The next session may resume a TLS session of the one before, without a challenge.
    @Test func aCheckCountsForLaterSessionsWithTheSameSettings() throws {
        let security = Self.security()
        let url = try #require(URL(string: "https://127.0.0.1/"))
        let client = TLSSettings(
            clientCertificate: TLSSettings.ClientCertificate(pkcs12: Data([1]), password: "secret"))
        let other = TLSSettings(
            clientCertificate: TLSSettings.ClientCertificate(pkcs12: Data([2]), password: "secret"))
        func credentials(_ tls: TLSSettings) throws -> SessionCredentials {
            let request = TransportRequest(urlRequest: URLRequest(url: url), tls: tls)
            return try SessionCredentials(SessionSettings(request, isSecure: true), security)
        }
        let first = try credentials(client)
        #expect(first.isUnchecked)
        first.noteCheck()
        #expect(try !credentials(client).isUnchecked)
        #expect(try credentials(other).isUnchecked && !credentials(.default).isUnchecked)
        let request = TransportRequest(urlRequest: URLRequest(url: url), tls: other)
        #expect {
            try request.requireCheck(by: credentials(other))
        } throws: {
            if case .transport(.serverCertificateUntrusted, _) = PulseError(wrapping: $0) { true } else { false }
        }
    }

    /// The tasks that wait for the same connection would fail with it.
    @Test func aCancelledTaskStillChecksItsServer() async throws {
        try await MockServer.run { server in
            server.fallback { _ in .raw([.stall]) }
            let delegate = SessionDelegate(
                Self.security { _, _ in (URLSessionPinningTests.chain.map(\.der), URLSessionPinningTests.credential) })
            // It tells this delegate nothing, so that the task ends as the test says.
            let session = URLSession(configuration: .ephemeral)
            let task = session.dataTask(with: server.baseURL)
            let pins = Self.pins(Self.chain[0])
            let request = TransportRequest(urlRequest: URLRequest(url: server.baseURL), pins: pins)
            let credentials = try Self.credentials(pins: pins)
            let run = Task { try await delegate.run(task, for: request, credentials, into: .memory(limit: 1)) }
            try await server.wait { $0.requests.count == 1 }
            let challenge = URLAuthenticationChallenge(
                protectionSpace: Self.space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil,
                error: nil, sender: Sender())
            delegate.cancel(task)
            _ = await run.result
            #expect(delegate.reaction(to: challenge, of: task).0 == .useCredential)
            delegate.urlSession(session, task: task, didCompleteWithError: URLError(.cancelled))
            #expect(delegate.reaction(to: challenge, of: task).0 == .cancelAuthenticationChallenge)
            session.invalidateAndCancel()
        }
    }

    /// The system cancels all tasks that wait for a connection which one of them refuses.
    @Test func aCancellationByTheSystemIsALostConnection() async throws {
        try await MockServer.run { server in
            server.fallback { _ in .raw([.stall]) }
            let delegate = SessionDelegate(Self.security())
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            let task = session.dataTask(with: server.baseURL)
            let request = TransportRequest(urlRequest: URLRequest(url: server.baseURL))
            let run = Task { try await delegate.run(task, for: request, SessionCredentials(), into: .memory(limit: 1)) }
            try await server.wait { $0.requests.count == 1 }
            delegate.urlSession(session, task: task, didCompleteWithError: URLError(.cancelled))
            let result = await run.result
            #expect { try result.get() } throws: { error in
                (error as? TransportFailure)?.code == .networkConnectionLost
            }
            delegate.dispose(session)
        }
    }

    // MARK: Authorities, certificates and credentials in challenges

    @Test func authoritiesAreForTheEvaluation() async throws {
        let tls = TLSSettings(certificateAuthorities: [Self.other.der, Self.chain[0].der + Self.chain[1].der])
        let seen = Locked<[Data]>([])
        let outcome = try await challenge(tls: tls, try Self.credentials(tls: tls)) { _, authorities in
            seen.withLock { $0 = authorities }
            return (Self.chain.map(\.der), Self.credential)
        }
        #expect(seen.withLock { $0 } == [Self.other.der, Self.chain[0].der, Self.chain[1].der])
        #expect(outcome.disposition == .useCredential)
        #expect(outcome.credential?.user == "accepted")
        #expect(outcome.error == nil)
        // Without its authorities a session trusts those of the system.
        let without = try await challenge(tls: tls, SessionCredentials())
        #expect(without.disposition == .cancelAuthenticationChallenge)
        #expect(without.error?.kind == .transport)
    }

    @Test(arguments: [0, 1])
    func theClientCertificateIsPresentedOnce(failures: Int) async throws {
        let client = TLSSettings.ClientCertificate(pkcs12: Data([1]), password: "secret")
        let tls = TLSSettings(clientCertificate: client)
        let space = Self.certificateSpace
        let outcome = try await challenge(space, failures: failures, tls: tls, try Self.credentials(tls: tls))
        #expect(outcome.disposition == (failures == 0 ? .useCredential : .rejectProtectionSpace))
        #expect(outcome.credential?.user == (failures == 0 ? "identity" : nil))
        let without = try await challenge(space, tls: tls, SessionCredentials())
        #expect(without.disposition == .rejectProtectionSpace)
        #expect(without.credential == nil)
    }

    @Test func aProxyGetsItsCredentials() async throws {
        let proxy = ProxySettings.http(host: "127.0.0.2", port: 3128).credentials(username: "user", password: "secret")
        let space = URLProtectionSpace(
            proxyHost: "127.0.0.2", port: 3128, type: NSURLProtectionSpaceHTTPProxy, realm: "proxy",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        let outcome = try await challenge(space, proxy: proxy, SessionCredentials())
        #expect(outcome.disposition == .useCredential)
        #expect(outcome.credential?.user == "user")
        #expect(outcome.credential?.password == "secret")
        #expect(outcome.credential?.persistence == .forSession)
    }

    @Test func cleartextHasNoPins() async throws {
        try await MockServer.run { server in
            server.fallback { _ in .text("response") }
            let transport = transport()
            let pins = SSLPinningPolicy.PinSet(publicKeyHashes: [Self.other.pin])
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
