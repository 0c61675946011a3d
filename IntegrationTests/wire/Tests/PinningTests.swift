// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

@testable import PulseCalls

@Suite(.servers, .timeLimit(.minutes(5)))
struct PinningTests {
    @Test(arguments: ["server", "intermediate", "root"])
    func aPinOfAnyKeyInTheChainPasses(name: String) async throws {
        let url = try Servers.url(.tls)
        let response = try await withTransport { transport in
            try await transport.send(.to(url) { $0.pins = try .keys(name, "stranger") })
        }
        #expect(response.statusCode == 200)
        let pins = try [Servers.pin(name), Servers.pin("stranger")]
        let status = try await withClient(pinning: .publicKeyHashes(pins)) {
            try await $0.rawRequest(URLRequest(url: url)).statusCode
        }
        #expect(status == 200)
    }

    @Test(arguments: ["server", "intermediate", "root"])
    func aPinnedCertificateOfTheChainPasses(name: String) async throws {
        let url = try Servers.url(.tls)
        let certificates = try [Servers.data(name + ".der"), Servers.data("stranger.der")]
        let status = try await withClient(pinning: .certificates(certificates)) {
            try await $0.rawRequest(URLRequest(url: url)).statusCode
        }
        #expect(status == 200)
    }

    @Test
    func aPinnedCertificateOfAnotherKeyFails() async throws {
        let url = try Servers.url(.tls)
        let certificate = try Servers.data("stranger.der")
        await expectPinningFailure(host: "localhost") {
            try await withClient(pinning: .certificates([certificate])) {
                try await $0.rawRequest(URLRequest(url: url))
            }
        }
    }

    @Test
    func anInvalidCertificateFailsBeforeAnythingIsSent() async throws {
        let url = try Servers.url(.tls)
        let error = await #expect(throws: PulseError.self) {
            try await withClient(pinning: .certificates([Data("-----BEGIN".utf8)])) {
                try await $0.rawRequest(URLRequest(url: url))
            }
        }
        guard case .invalidRequest = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    /// The server keeps every byte that it decrypts.
    @Test(arguments: [TransportRequest.Delivery.buffered(limit: 1 << 20), .streamed])
    func noByteOfAnUnpinnedRequestLeaves(delivery: TransportRequest.Delivery) async throws {
        let url = try Servers.url(.recorder, "/\(UUID().uuidString)")
        try await withTransport { transport in
            let request = try TransportRequest.to(url) {
                $0.urlRequest.httpMethod = "POST"
                $0.urlRequest.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
                $0.body = .bytes(Data("body".utf8))
                $0.delivery = delivery
                $0.pins = try .keys("stranger")
            }
            await expectPinningFailure(host: "localhost") { try await transport.send(request) }
            let connections: [String] = try await Servers.told("/received")
            #expect(connections.last == "")
            #expect(!connections.contains { $0.contains(url.path) })
            // Proves that the recorder records.
            let allowed = try TransportRequest.to(url) { $0.pins = try .keys("server") }
            _ = try await transport.send(allowed)
            let received: [String] = try await Servers.told("/received")
            #expect(received.last?.hasPrefix("GET \(url.path) HTTP/1.1\r\n") == true)
        }
    }

    @Test
    func aDownloadWithAPinningFailureWritesNothing() async throws {
        let url = try Servers.url(.tls, "/files/text")
        let file = URL(fileURLWithPath: Servers.path(UUID().uuidString))
        await expectPinningFailure(host: "localhost") {
            try await withTransport { transport in
                try await transport.send(
                    .to(url) {
                        $0.delivery = .file(file, resumeOffset: 0)
                        $0.pins = try .keys("stranger")
                    })
            }
        }
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    // MARK: Events and logs

    @Test
    func theEventNamesTheKeysOfTheVerifiedChain() async throws {
        let url = try Servers.url(.tls)
        let recorder = Recorder()
        let pins = try [Servers.pin("stranger")]
        let events = PulseEventBus()
        let told = events.events
        await expectPinningFailure(host: "localhost") {
            try await withClient(pinning: .publicKeyHashes(pins), events: events) {
                try await $0.rawRequest(URLRequest(url: url))
            }
        }
        for await event in told {
            recorder.emit(event)
            if case .requestCompleted = event { break }
        }
        #expect(recorder.unpinned.map(\.host) == ["localhost"])
        #expect(try recorder.unpinned.map(\.seen) == [Servers.chain()])
    }

    @Test
    func theLogNamesTheHostOfAPinningFailure() async throws {
        let url = try Servers.url(.tls)
        let lines = Lines()
        let logger = LevelLogger(.error, bus: PulseEventBus()) { line, _ in lines.append(line) }
        await expectPinningFailure(host: "localhost") {
            try await withTransport { transport in
                try await transport.send(
                    .to(url) {
                        $0.pins = try .keys("stranger")
                        $0.events = logger
                    })
            }
        }
        let line = try #require(lines.all.first)
        #expect(line.contains("localhost"))
        for pin in try Servers.chain() {
            #expect(line.contains(pin))
        }
    }

    @Test
    func aReportOnlyPolicyPassesAndEmitsAnEvent() async throws {
        let url = try Servers.url(.tls)
        let recorder = Recorder()
        try await withTransport { transport in
            let pins = SSLPinningPolicy.PinSet(publicKeyHashes: [try Servers.pin("stranger")], isReportOnly: true)
            // The second uses the connection of the first.
            for _ in 1...2 {
                let response = try await transport.send(
                    .to(url) {
                        $0.pins = pins
                        $0.events = recorder
                    })
                #expect(response.statusCode == 200)
            }
        }
        #expect(try recorder.unpinned.map(\.seen) == [Servers.chain(), Servers.chain()])
    }

    // MARK: Attacks

    /// Anyone with a certificate of any authority can append the pinned one to it.
    @Test
    func aPinnedCertificateOutsideTheVerifiedChainIsIgnored() async throws {
        let url = try Servers.url(.tls, host: "junk.localhost")
        let recorder = Recorder()
        try await withTransport { transport in
            let response = try await transport.send(.to(url) { $0.pins = try .keys("server") })
            #expect(response.statusCode == 200)
        }
        try await withTransport { transport in
            await expectPinningFailure(host: "junk.localhost") {
                try await transport.send(
                    .to(url) {
                        $0.pins = try .keys("stranger")
                        $0.events = recorder
                    })
            }
        }
        #expect(try recorder.unpinned.map(\.seen) == [Servers.chain()])
    }

    @Test(arguments: [
        ("localhost", URLError.Code.serverCertificateHasUnknownRoot, "system"),
        ("expired.localhost", .serverCertificateHasBadDate, "own"),
        ("elsewhere.localhost", .serverCertificateUntrusted, "own"),
    ])
    func aPinDoesNotReplaceTheUsualVerification(host: String, code: URLError.Code, trust: String) async throws {
        let url = try Servers.url(.tls, host: host)
        let error = await #expect(throws: TransportFailure.self) {
            try await withTransport { transport in
                try await transport.send(
                    .to(url) {
                        if trust == "system" { $0.tls = .default }
                        $0.pins = try .keys("root", "intermediate", "server")
                    })
            }
        }
        #expect(error?.code == code)
        #expect(error?.phase == .beforeSend)
    }

    // MARK: Sessions and connections

    /// A resumed session has no verified chain.
    @Test
    func connectionsWithPinsResumeNoSession() async throws {
        let url = try Servers.url(.tickets)
        try await withTransport { transport in
            // Sessions that could be resumed.
            let unpinned = try await Self.sessions(20, transport, .to(url))
            #expect(unpinned.first == "New")
            #expect(unpinned.dropFirst().allSatisfy { $0 == "Reused" })
            let pinned = try await Self.sessions(20, transport, .to(url) { $0.pins = try .keys("root") })
            #expect(pinned.allSatisfy { $0 == "New" })
            // And later sessions are not used by others.
            for _ in 1...3 {
                await expectPinningFailure(host: "localhost") {
                    try await transport.send(.to(url) { $0.pins = try .keys("stranger") })
                }
            }
        }
    }

    /// nginx reports whether it has resumed one: by a ticket of TLS 1.3 or by TLS 1.2.
    @Test(arguments: [Servers.Name.tls12, .tlsWithHTTP1])
    func connectionsWithPinsResumeNoSessionOfNginx(server: Servers.Name) async throws {
        let url = try Servers.url(server, "/close")
        try await withTransport { transport in
            var reused: [String?] = []
            for pins in [
                nil, nil, try SSLPinningPolicy.PinSet.keys("root"), try SSLPinningPolicy.PinSet.keys("root"), nil,
            ] {
                reused.append(try await transport.send(.to(url) { $0.pins = pins }).headers["X-Session-Reused"])
            }
            #expect(reused == [".", "r", ".", ".", "r"])
        }
    }

    private static func sessions(
        _ count: Int, _ transport: any Transport, _ request: TransportRequest
    ) async throws -> [String] {
        var sessions: [String] = []
        for _ in 1...count {
            // The server closes after each response.
            let line = try await transport.send(request).text.split(separator: "\n").first { $0.contains("Cipher is") }
            sessions.append(String(try #require(line).prefix { $0 != "," }))
        }
        return sessions
    }

    @Test(arguments: [Servers.Name.tls, .tlsWithHTTP1])
    func aConnectionWithoutPinsServesNoRequestWithPins(server: Servers.Name) async throws {
        let url = try Servers.url(server)
        try await withTransport { transport in
            let open = try await transport.send(.to(url))
            await expectPinningFailure(host: "localhost") {
                try await transport.send(.to(url) { $0.pins = try .keys("stranger") })
            }
            let pinned = try await transport.send(.to(url) { $0.pins = try .keys("server") })
            #expect(pinned.connection != open.connection)
        }
    }

    @Test(arguments: [Servers.Name.tls, .tlsWithHTTP1])
    func requestsWithOtherPinsShareNoConnection(server: Servers.Name) async throws {
        let url = try Servers.url(server)
        let recorder = Recorder()
        try await withTransport { transport in
            let first = try await transport.send(.to(url) { $0.pins = try .keys("server") })
            let second = try await transport.send(.to(url) { $0.pins = try .keys("intermediate") })
            #expect(second.connection != first.connection)
            #expect(second.timings?.isConnectionReused == false)
            await expectPinningFailure(host: "localhost") {
                try await transport.send(
                    .to(url) {
                        $0.pins = try .keys("stranger")
                        $0.events = recorder
                    })
            }
        }
        #expect(try recorder.unpinned.map(\.seen) == [Servers.chain()])
    }

    @Test
    func aFailedRequestDoesNotAffectOthers() async throws {
        let url = try Servers.url(.tls, "/slow/text")
        try await withTransport { transport in
            let response = try await transport.send(
                .to(url) {
                    $0.delivery = .streamed
                    $0.pins = try .keys("server")
                })
            for _ in 1...5 {
                await expectPinningFailure(host: "localhost") {
                    try await transport.send(.to(url) { $0.pins = try .keys("stranger") })
                }
            }
            let body = try await #require(response.bytes).collect(upTo: 1 << 20)
            #expect(try body == Servers.data("files/text"))
        }
    }

    @Test
    func concurrentRequestsAreEachCheckedAgainstTheirOwnPins() async throws {
        let url = try Servers.url(.tls)
        let policies: [SSLPinningPolicy.PinSet?] = try [nil, .keys("server"), .keys("stranger"), .keys("root")]
        try await withTransport { transport in
            let verdicts = await withTaskGroup(of: (Int, Bool).self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let response = try? await transport.send(.to(url) { $0.pins = policies[number % 4] })
                        return (number, response?.statusCode == 200)
                    }
                }
                return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            #expect(verdicts.filter { $0.value == ($0.key % 4 == 2) }.isEmpty)
        }
    }

    @Test
    func pinsAreCheckedBehindAProxy() async throws {
        let url = try Servers.url(.tls, host: "pins.pulse.test")
        let recorder = Recorder()
        try await withTransport { transport in
            let proxy = ProxySettings.http(host: "127.0.0.1", port: Servers.port(.proxy))
            let request = try TransportRequest.to(url) {
                $0.proxy = proxy
                $0.events = recorder
            }
            var (right, wrong) = (request, request)
            right.pins = try .keys("server")
            wrong.pins = try .keys("stranger")
            let (allowed, refused) = (right, wrong)
            let response = try await transport.send(allowed)
            #expect(response.statusCode == 200)
            await expectPinningFailure(host: "pins.pulse.test") { try await transport.send(refused) }
        }
        #expect(try recorder.unpinned.map(\.seen) == [Servers.chain()])
    }

    // MARK: Policies

    @Test(arguments: [
        ("*.localhost", ["api.localhost"]), ("**.localhost", ["localhost", "api.localhost", "deep.api.localhost"]),
        ("api.localhost", ["api.localhost"]), ("API.LOCALHOST", ["api.localhost"]),
        ("*.api.localhost", ["deep.api.localhost"]),
    ])
    func aPinningPolicyAppliesToItsHostsOnly(pattern: String, pinned: [String]) async throws {
        let pin = try Servers.pin("stranger")
        try await withClient(pinning: .publicKeyHashes([pin]).hosts(pattern)) { client in
            for host in ["localhost", "api.localhost", "deep.api.localhost"] {
                let url = try Servers.url(.tls, host: host)
                if pinned.contains(host) {
                    await expectPinningFailure(host: host) { try await client.rawRequest(URLRequest(url: url)) }
                } else {
                    let response = try await client.rawRequest(URLRequest(url: url))
                    #expect(response.statusCode == 200)
                }
            }
        }
    }
}

/// Expects ``PulseError/sslPinningFailed(host:)`` for that host.
private func expectPinningFailure<Value>(
    host: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Value
) async {
    let error = await #expect(throws: PulseError.self, sourceLocation: sourceLocation) { try await body() }
    if case .sslPinningFailed(host) = error { return }
    Issue.record("\(String(describing: error))", sourceLocation: sourceLocation)
}

private final class Lines: Sendable {
    private let lock = NSLock()
    // Unchecked: accessed only under the lock.
    nonisolated(unsafe) private var lines: [String] = []

    func append(_ line: String) { lock.withLock { lines.append(line) } }
    var all: [String] { lock.withLock { lines } }
}
