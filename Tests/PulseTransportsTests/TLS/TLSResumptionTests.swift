// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

/// How long a session of TLS is resumed, and which one is not resumed again.
@Suite(.tags(.addresses), .throttled)
struct TLSResumptionTests {
    private static let minors: [Int32] = [2, 3]
    private static let hour: TimeInterval = 3600

    /// A client and a server whose connections follow each other.
    private struct Stage {
        let server: TLSTestServer
        let context: TLSContext
        private let start = TLSSession.now

        init(_ minor: Int32, validity: ClosedRange<Int> = -3600...864_000) throws {
            let identity = try TestIdentity("DNS:localhost,DNS:other", validity: validity)
            server = try TLSTestServer(identity, minor: minor)
            context = try identity.context()
        }

        /// Whether a connection at that time is resumed. It reads its tickets.
        func isResumed(after seconds: TimeInterval, host: String = "localhost") throws -> Bool {
            let peer = try server.connection()
            defer { peer.leave() }
            let session = try peer.session(context, host: host, now: start + seconds)
            peer.say("x")
            #expect(session.read() == .text("x"))
            return session.isResumed
        }
    }

    @Test(arguments: minors)
    func aSessionIsResumedForADay(minor: Int32) throws {
        let stage = try Stage(minor)
        #expect(try !stage.isResumed(after: 0))
        #expect(try !stage.isResumed(after: 25 * Self.hour))
        #expect(try stage.isResumed(after: 48 * Self.hour))
        #expect(try !stage.isResumed(after: 50 * Self.hour))
    }

    /// The tickets of a resumed handshake keep the verdict of the whole one, and so its age.
    @Test(arguments: minors)
    func aSessionThatIsResumedAgainAndAgainEndsWithItsFirstDay(minor: Int32) throws {
        let stage = try Stage(minor)
        #expect(try !stage.isResumed(after: 0))
        for hours in [6, 12, 18, 23] as [TimeInterval] { #expect(try stage.isResumed(after: hours * Self.hour)) }
        #expect(try !stage.isResumed(after: 24 * Self.hour))
        #expect(try stage.isResumed(after: 25 * Self.hour))
    }

    @Test(arguments: minors)
    func noSessionOutlivesTheCertificate(minor: Int32) throws {
        let stage = try Stage(minor, validity: -3600...7200)
        #expect(try !stage.isResumed(after: 0))
        #expect(try stage.isResumed(after: Self.hour))
        // By its own clock the server still has it.
        #expect(try !stage.isResumed(after: 7300))
    }

    /// A server that has lost its keys may fail at the session, and would fail at it again.
    @Test(arguments: minors, [false, true])
    func aHandshakeThatFailsWithASessionForgetsThoseOfItsHost(minor: Int32, isSilent: Bool) throws {
        let stage = try Stage(minor)
        for host in ["localhost", "other"] { #expect(try !stage.isResumed(after: 0, host: host)) }
        let peer = try stage.server.connection()
        let session = try peer.newSession(stage.context)
        #expect(try !session.handshake())
        if !isSilent {
            peer.cut()
            #expect(throws: TransportFailure.self) { try session.handshake() }
        }
        peer.leave()
        #expect(try !stage.isResumed(after: 1))
        #expect(try stage.isResumed(after: 1, host: "other"))
    }

    /// A server of TLS 1.3 may object to what the client has sent with its Finished.
    @Test(arguments: minors)
    func aConnectionThatEndsBeforeItsFirstByteForgetsThoseOfItsHost(minor: Int32) throws {
        let stage = try Stage(minor)
        #expect(try !stage.isResumed(after: 0))
        let peer = try stage.server.connection()
        let session = try peer.session(stage.context)
        #expect(session.isResumed)
        peer.cut()
        #expect(session.read() == .failed(.networkConnectionLost))
        peer.leave()
        #expect(try !stage.isResumed(after: 1))
    }

    /// A connection that has carried data proves that the server knows the session.
    @Test func aLaterFailureForgetsNothing() throws {
        // In TLS 1.2 the connection has the session itself, which OpenSSL does not resume then.
        let stage = try Stage(3)
        #expect(try !stage.isResumed(after: 0))
        let peer = try stage.server.connection()
        let session = try peer.session(stage.context)
        #expect(session.isResumed)
        peer.say("x")
        #expect(session.read() == .text("x"))
        peer.cut()
        #expect(session.read() == .failed(.networkConnectionLost))
        peer.leave()
        #expect(try stage.isResumed(after: 1))
    }
}
#endif
