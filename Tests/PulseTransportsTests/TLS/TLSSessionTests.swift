// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulseTesting
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

/// TLS over pairs of sockets. Nothing waits here: each side acts when the test calls it.
@Suite(.tags(.threads, .addresses), .throttled)
struct TLSSessionTests {
    private static let minors: [Int32] = [2, 3]

    private let identity: TestIdentity
    private let context: TLSContext
    /// More than a pair of sockets takes.
    private let bytes = TLSSessionTests.pattern

    /// Not Data, whose storage the address sanitizer would report as leaked from a constant.
    private static let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
    private static var pattern: Data { Data(bytes) }

    init() throws {
        identity = try TestIdentity()
        context = try identity.context()
    }

    private func pair(
        minor: Int32 = 3, clients: pulse_tls_clients = PULSE_TLS_CLIENTS_IGNORED
    ) throws -> (peer: TLSPeer, session: TLSSession) {
        let peer = try TLSTestServer(identity, minor: minor, clients: clients).connection()
        return (peer, try peer.session(context))
    }

    /// Sends the rest of the bytes, while the peer reads.
    private func send(_ bytes: Data, from start: Int, _ session: TLSSession, to peer: TLSPeer) {
        var count = start
        for _ in 0..<10_000 where count < bytes.count {
            count += session.fill(bytes.dropFirst(count))
            peer.turn()
        }
        #expect(count == bytes.count)
    }

    // MARK: Bytes

    @Test(arguments: minors)
    func bytesGoBothWays(minor: Int32) throws {
        let (peer, session) = try pair(minor: minor)
        #expect(session.read() == .blocked)
        #expect(session.write(Data("request".utf8)) == .sent(7))
        #expect(!session.mayHaveSent)
        peer.turn()
        #expect(peer.received == Data("request".utf8))
        peer.say("response")
        #expect(session.read(3) == .text("res"))
        #expect(session.read() == .text("ponse"))
        #expect(session.read() == .blocked)
        peer.leave()
    }

    @Test(arguments: minors)
    func aBlockedWriteGoesOnWithTheSameBytesFromAnywhere(minor: Int32) throws {
        let (peer, session) = try pair(minor: minor)
        let count = session.fill(bytes)
        #expect(0 < count && count < bytes.count)
        // A record of the next bytes is encrypted.
        #expect(session.mayHaveSent)
        #expect(session.write(Data(bytes.dropFirst(count).prefix(20_000))) == .blocked)
        send(bytes, from: count, session, to: peer)
        #expect(!session.mayHaveSent)
        #expect(peer.received == bytes)
        peer.leave()
    }

    /// OpenSSL cannot reply to one in the middle of a write of its own (openssl/openssl#13729).
    @Test func keysAreUpdatedWhileAWriteIsBlocked() throws {
        let (peer, session) = try pair()
        let count = session.fill(bytes)
        for text in ["one", "two", "three"] {
            peer.renew()
            peer.say(text)
            #expect(session.read() == .text(text))
        }
        send(bytes, from: count, session, to: peer)
        #expect(peer.received == bytes && peer.end == nil)
        peer.renew()
        peer.say("four")
        #expect(session.read() == .text("four"))
        #expect(session.write(Data([1])) == .sent(1))
        peer.turn()
        #expect(peer.received == bytes + [1])
        peer.leave()
    }

    @Test func anEndlessSeriesOfKeyUpdatesIsAFailure() throws {
        let (peer, session) = try pair()
        var seen = Seen.blocked
        for _ in 0..<8000 where seen == .blocked {
            peer.renew()
            seen = session.read()
            peer.turn()
        }
        #expect(seen == .failed(.networkConnectionLost))
        peer.leave()
    }

    /// RFC 5246, section 7.4.1.1: the client may refuse. OpenSSL's server ends the connection then.
    @Test func anotherHandshakeIsRefused() throws {
        let (peer, session) = try pair(minor: 2)
        peer.renew()
        #expect(session.read() == .blocked)
        peer.turn()
        #expect(peer.end == .failed || peer.end == .refused)
        peer.leave()
    }

    // MARK: The end

    @Test(arguments: minors)
    func theCloseAlertIsTheEndOfOneDirection(minor: Int32) throws {
        let (peer, session) = try pair(minor: minor)
        peer.say("last")
        peer.finish()
        #expect(session.read() == .text("last"))
        for _ in 0..<2 { #expect(session.read() == .end) }
        #expect(session.write(Data([1])) == .sent(1))
        session.close()
        peer.turn()
        #expect(peer.received == Data([1]) && peer.end == .closed)
        peer.leave()
    }

    @Test(arguments: minors)
    func anEndWithoutTheAlertIsALostConnection(minor: Int32) throws {
        let (peer, session) = try pair(minor: minor)
        peer.say("not all")
        peer.cut()
        #expect(session.read() == .text("not all"))
        for _ in 0..<2 { #expect(session.read() == .failed(.networkConnectionLost)) }
        peer.leave()
    }

    @Test(arguments: minors)
    func aTruncatedRecordIsALostConnection(minor: Int32) throws {
        let (peer, session) = try pair(minor: minor)
        let record = peer.record(of: "not all")
        peer.say(raw: record.dropLast())
        #expect(session.read() == .blocked)
        peer.cut()
        #expect(session.read() == .failed(.networkConnectionLost))
        peer.leave()
    }

    @Test func aChangedRecordIsALostConnection() throws {
        let (peer, session) = try pair()
        var record = peer.record(of: "changed")
        record[record.count - 1] ^= 1
        peer.say(raw: record)
        #expect(session.read() == .failed(.networkConnectionLost))
        // Nothing is sent over it any more.
        #expect(session.write(Data([1])) == .failed(.networkConnectionLost))
        #expect(!session.mayHaveSent)
        peer.leave()
    }

    /// RFC 9112, section 9.5.
    @Test(arguments: minors)
    func whatAServerHasSaidBeforeItClosedIsReadAfterAFailedWrite(minor: Int32) throws {
        let (peer, session) = try pair(minor: minor)
        let count = session.fill(bytes)
        peer.say("refused")
        peer.finish()
        peer.cut()
        for _ in 0..<2 {
            #expect(session.write(bytes.dropFirst(count)) == .failed(.networkConnectionLost))
            #expect(session.mayHaveSent)
        }
        #expect(session.read() == .text("refused"))
        #expect(session.read() == .end)
        peer.leave()
    }

    /// And no signal ends the process.
    @Test func aFailedWriteOfNothingSentIsUnsent() throws {
        let (peer, session) = try pair()
        peer.cut()
        for _ in 0..<2 { #expect(session.write(Data([1])) == .failed(.networkConnectionLost)) }
        #expect(!session.mayHaveSent)
        session.close()
        peer.leave()
    }

    @Test func aSessionWithoutRoomClosesAtOnce() throws {
        let (peer, session) = try pair()
        let count = session.fill(bytes)
        session.close()
        #expect(session.read() == .failed(.networkConnectionLost))
        peer.turn()
        #expect(peer.received == bytes.prefix(peer.received.count) && peer.received.count <= count)
        #expect(peer.end == nil)
        peer.leave()
    }

    /// Its descriptor may be another socket's by then.
    @Test(arguments: minors)
    func aSessionThatIsReleasedSendsNothing(minor: Int32) throws {
        let peer = try TLSTestServer(identity, minor: minor).connection()
        var session: TLSSession? = try peer.session(context)
        #expect(session != nil)
        session = nil
        peer.turn()
        #expect(peer.end == nil)
        peer.leave()
    }

    @Test(arguments: [true, false])
    func aServerThatSpeaksNoTLSIsNoSecureConnection(isCut: Bool) throws {
        let peer = try TLSTestServer(identity).connection()
        let session = try peer.newSession(context)
        let isDone = try session.handshake()
        #expect(!isDone)
        if isCut { peer.cut() } else { peer.say(raw: Data("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)) }
        let failure = #expect(throws: TransportFailure.self) { try session.handshake() }
        #expect(failure?.code == .secureConnectionFailed && failure?.phase == .beforeSend)
        peer.leave()
    }

    // MARK: Protocols

    @Test(arguments: minors)
    func theServerChoosesAmongTheOfferedProtocols(minor: Int32) throws {
        for (choice, offersHTTP2, isAccepted) in [
            ("h2", true, true), ("http/1.1", true, true), ("http/1.1", false, true), ("h2", false, false),
            ("spdy/3", true, false), ("h3", true, false),
        ] as [(StaticString, Bool, Bool)] {
            let peer = try TLSTestServer(identity, minor: minor, alpn: choice).connection()
            let context = try identity.context(offersHTTP2: offersHTTP2)
            if isAccepted {
                let session = try peer.session(context)
                #expect(session.protocolName == "\(choice)")
            } else {
                let failure = #expect(throws: TransportFailure.self) { try peer.session(context) }
                #expect(failure?.code == .secureConnectionFailed && failure?.phase == .beforeSend)
            }
            peer.leave()
        }
        let (peer, session) = try pair(minor: minor)
        #expect(session.protocolName == nil)
        peer.leave()
    }

    // MARK: The client's certificate

    /// With TLS 1.3 the server objects after the handshake of the client, whose write may fail before it reads that.
    @Test(arguments: minors, [true, false])
    func aServerThatRequiresACertificateSaysWhatIsWrong(minor: Int32, isCut: Bool) throws {
        let stranger = try TestIdentity()
        for (certificate, code) in [
            (nil, .clientCertificateRequired), (stranger.client, .clientCertificateRejected), (identity.client, nil),
        ] as [(TLSSettings.ClientCertificate?, URLError.Code?)] {
            var settings = identity.settings
            settings.clientCertificate = certificate
            let context = try TLSContext(settings, pins: nil, offersHTTP2: true)
            let server = try TLSTestServer(identity, minor: minor, clients: PULSE_TLS_CLIENTS_REQUIRED)
            let peer = try server.connection()
            if minor == 2, let code {
                let failure = #expect(throws: TransportFailure.self) { try peer.session(context) }
                #expect(failure?.code == code && failure?.phase == .beforeSend)
            } else {
                let session = try peer.session(context)
                if code != nil, isCut {
                    peer.cut()
                    #expect(session.write(Data([1])) == .failed(.networkConnectionLost))
                }
                #expect(session.read() == code.map { Seen.failed($0) } ?? .blocked)
            }
            peer.leave()
        }
    }

    @Test func anUnreadableCertificateIsAnInvalidSetting() throws {
        for (certificate, problem) in [
            (TLSSettings.ClientCertificate(pkcs12: identity.client.data, password: "x"), "the password is wrong"),
            (TLSSettings.ClientCertificate(pkcs12: Data(), password: ""), "it is not PKCS #12"),
        ] {
            var settings = identity.settings
            settings.clientCertificate = certificate
            let error = #expect(throws: PulseError.self) {
                try TLSContext(settings, pins: nil, offersHTTP2: true)
            }
            let text = error.map { "\($0)" } ?? ""
            #expect(error?.kind == .invalidRequest && text.contains(problem))
        }
        let settings = TLSSettings(certificateAuthorities: [Data("none".utf8)])
        let error = #expect(throws: PulseError.self) { try TLSContext(settings, pins: nil, offersHTTP2: true) }
        #expect(error?.kind == .invalidRequest)
    }

    // MARK: Pins

    @Test func theVerifiedChainIsComparedWithPins() throws {
        let stranger = try TestIdentity()
        let other = try pair()
        #expect(other.session.verifiedKeys.count == 2)
        let server = try TLSTestServer(identity)
        for pinned in [identity.certificates[0], identity.authority] {
            let peer = try server.connection()
            let session = try peer.session(try identity.context(pins: SSLPinningPolicy.PinSet(pinned)))
            #expect(session.unpinnedKeys == nil && session.verifiedKeys == other.session.verifiedKeys)
            peer.leave()
        }
        other.peer.leave()
        // The server sends it, and it is no part of the chain.
        let chain = identity.certificates[0] + stranger.authority
        let peer = try TLSTestServer(identity, chain: chain).connection()
        let refusal = #expect(throws: TLSFailure.Unpinned.self) {
            try peer.session(try identity.context(pins: SSLPinningPolicy.PinSet(stranger.authority)))
        }
        #expect(refusal?.keys.count == 2)
        peer.leave()
        let reported = try server.connection()
        let session = try reported.session(
            try identity.context(pins: SSLPinningPolicy.PinSet(stranger.authority, isReportOnly: true)))
        #expect(session.unpinnedKeys?.count == 2)
        reported.leave()
    }

    // MARK: Resumed sessions

    /// Whether connections, one after the other, are resumed. Only the first one reads the tickets.
    private func resumptions(_ server: TLSTestServer, _ context: TLSContext, hosts: [String]) throws -> [Bool] {
        var seen: [Bool] = []
        for host in hosts {
            let peer = try server.connection()
            let session = try peer.session(context, host: host)
            if seen.isEmpty {
                peer.say("x")
                #expect(session.read() == .text("x"))
            }
            seen.append(session.isResumed)
            #expect(session.verifiedKeys.isEmpty == session.isResumed)
            session.close()
            peer.leave()
        }
        return seen
    }

    /// A server of TLS 1.3 sends two tickets. Each shows both of its connections to be of one client, so that it is for
    /// one (RFC 8446, appendix C.4).
    @Test func sessionsAreResumedPerHostAndTicketsUsedOnce() throws {
        let identity = try TestIdentity("DNS:localhost,DNS:other")
        let hosts = ["localhost", "other", "localhost", "localhost", "localhost"]
        for (minor, resumed) in [(2, [false, false, true, true, true]), (3, [false, false, true, true, false])]
            as [(Int32, [Bool])]
        {
            let server = try TLSTestServer(identity, minor: minor)
            let context = try identity.context()
            #expect(try resumptions(server, context, hosts: hosts) == resumed)
            let other = try identity.context()
            #expect(try resumptions(server, other, hosts: ["localhost"]) == [false])
        }
    }

    @Test(arguments: minors)
    func noSessionIsResumedWithPins(minor: Int32) throws {
        let context = try identity.context(pins: SSLPinningPolicy.PinSet(identity.authority))
        let server = try TLSTestServer(identity, minor: minor)
        #expect(try resumptions(server, context, hosts: ["localhost", "localhost"]) == [false, false])
    }

    /// A resumed session would keep the verdict of its handshake.
    @Test func changedAuthoritiesApplyToTheNextConnection() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("authorities.pem")
        let system = TLSAuthorities(file: file.path, directory: folder.appendingPathComponent("none").path)
        let context = try TLSContext(.default, pins: nil, offersHTTP2: true, system: system)
        let (server, stranger) = (try TLSTestServer(identity), try TestIdentity())
        func failure() throws -> TransportFailure? {
            let peer = try server.connection()
            defer { peer.leave() }
            return #expect(throws: TransportFailure.self) { try peer.session(context) }
        }
        let unread = try failure()
        #expect(unread?.code == .secureConnectionFailed && unread?.phase == .beforeSend)
        let cause = unread?.underlying.map { "\($0)" } ?? ""
        #expect(cause.contains(file.path))
        for _ in 0..<2 {
            try Data(identity.authority.utf8).write(to: file, options: .atomic)
            #expect(try resumptions(server, context, hosts: ["localhost", "localhost"]) == [false, true])
            try Data(stranger.authority.utf8).write(to: file, options: .atomic)
            #expect(try failure()?.code == .serverCertificateHasUnknownRoot)
        }
    }

    // MARK: Connections

    /// A ticket that has come since is no byte of a response.
    @Test func aConnectionIsIdleUntilTheServerSendsOrEnds() throws {
        for (act, isIdle) in [
            ({ _ in }, true), ({ $0.renew() }, true), ({ $0.say("early") }, false), ({ $0.finish() }, false),
            ({ $0.cut() }, false),
        ] as [((TLSPeer) -> Void, Bool)] {
            let (peer, session) = try pair()
            act(peer)
            #expect(SocketChannel(session).isIdle == isIdle)
            peer.leave()
        }
    }

    @Test func aConnectionReadsAndWritesOverTLSAndCloses() async throws {
        let (peer, session) = try pair()
        let loop = SocketLoop(try SocketLoop.Core())
        func turn() {
            withUnsafeTemporaryAllocation(byteCount: 1 << 14, alignment: 16) { buffer in
                #expect(loop.core.turn(with: buffer, waits: false))
            }
        }
        let connection = try loop.connection(SocketChannel(session), remoteAddress: nil)
        connection.begin(idleTimeout: .infinity)
        let bytes = self.bytes
        let writer = Task.startingNow { try await connection.write(bytes) }
        let reader = Task.startingNow { try await connection.read() }
        while peer.received.count < bytes.count {
            turn()
            peer.turn()
            await Task.yield()
        }
        peer.say("response")
        turn()
        try await writer.value
        #expect(try await reader.value == Data("response".utf8))
        #expect(peer.received == bytes)
        connection.close()
        peer.turn()
        #expect(peer.end == .closed)
        // A process that another test starts has the descriptor too, until it runs its program.
        while !peer.isAlone { await Task.yield() }
    }
}

extension SSLPinningPolicy.PinSet {
    /// - Parameter certificate: in PEM.
    fileprivate init(_ certificate: String, isReportOnly: Bool = false) {
        let lines = certificate.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        let pinned = Data(base64Encoded: lines.joined()) ?? Data()
        self.init(publicKeyHashes: [], certificates: [pinned], isReportOnly: isReportOnly)
    }
}
#endif
