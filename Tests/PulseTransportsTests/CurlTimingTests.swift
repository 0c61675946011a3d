// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

/// A transfer that starts at 100, with a connect timeout of 10 seconds and an idle timeout of 60.
@Suite(.throttled, .timeLimit(.minutes(15)))
struct CurlTimingTests {
    private let request: CurlRequest
    private var timing = CurlTiming(startedAt: 100)

    init() throws {
        request = try Self.request(body: .none)
    }

    private static func request(body: CurlRequest.Body) throws -> CurlRequest {
        let url = try #require(URL(string: "http://localhost/"))
        let request = TransportRequest(urlRequest: URLRequest(url: url), connectTimeout: 10, idleTimeout: 60)
        return try CurlRequest(
            request, url: url, isSecure: false, body: body, delivery: .buffered(limit: 0), unixSocketPath: nil)
    }

    private mutating func timeout(
        _ now: TimeInterval, isBlocked: Bool = false, latestActivity: TimeInterval = 0
    ) -> CurlTiming.Timeout {
        timing.timeout(request, now: now, isBlocked: isBlocked) { latestActivity }
    }

    @Test mutating func aConnectTimeoutCountsFromTheStart() {
        #expect(timing.firstCheck(request) == 110)
        #expect(timeout(104) == .notBefore(110))
        #expect(timeout(109.9, isBlocked: true) == .notBefore(110))
        #expect(timeout(110) == .connect)
    }

    @Test mutating func anIdleTimeoutCountsFromTheLastActivity() {
        timing.connectedAt = 105
        #expect(timeout(110) == .notBefore(165))
        timing.lastActivity = 120
        #expect(timeout(165) == .notBefore(180))
        #expect(timing.idleTime(now: 165) == 45)
        #expect(timeout(180) == .idle)
    }

    /// Bytes that no callback has seen, such as those of a TLS handshake.
    @Test mutating func activityOfTheSocketPostponesAnIdleTimeout() {
        timing.connectedAt = 105
        #expect(timeout(165, latestActivity: 150) == .notBefore(210))
        #expect(timeout(210, latestActivity: 150) == .idle)
    }

    @Test mutating func aBlockedTransferIsNotIdle() {
        timing.connectedAt = 105
        #expect(timeout(500, isBlocked: true) == .notBefore(560))
        #expect(timeout(500) == .idle)
    }

    /// Over a shared connection only the byte count shows that an upload moves.
    @Test mutating func anUploadIsCheckedMoreOften() throws {
        let upload = try Self.request(body: .bytes(Data([1])))
        timing.connectedAt = 105
        #expect(timing.firstCheck(upload) == 110)
        #expect(timing.timeout(upload, now: 110, isBlocked: false) { 0 } == .notBefore(125))
    }
}
#endif
