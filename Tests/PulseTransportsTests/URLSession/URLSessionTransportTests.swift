// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct URLSessionTransportTests {
    @Test(arguments: [
        ["a=1"],
        ["a=1; Path=/", "b=2"],
        ["a=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT; Path=/", "b=2; Expires=Thu, 10 Jun 2100 10:18:14 GMT"],
        ["a=x, y, z", "b=", "c=d=e"],
        [""],
        ["no name at all", "a=1"],
    ])
    func joinedCookiesAreSeparated(_ cookies: [String]) {
        var headers: HTTPHeaders = ["X-A": "b", "Set-Cookie": cookies.joined(separator: ", ")]
        headers.separateCookies()
        #expect(headers.values(for: "Set-Cookie") == cookies)
        #expect(headers["X-A"] == "b")
    }

    @Test(arguments: [
        ("gzip", true), ("GZIP", true), ("gzip, br", true), ("identity", true), ("aws-chunked", false),
        ("gzip, aws-chunked", false), ("", false),
    ])
    func fieldsOfDecodedCodingsAreRemoved(_ coding: String, _ isRemoved: Bool) {
        var headers: HTTPHeaders = ["Content-Encoding": coding, "Content-Length": "10"]
        headers.removeDecodedContentFields()
        #expect(headers.contains("Content-Encoding") == !isRemoved)
        #expect(headers.contains("Content-Length") == !isRemoved)
    }

    private static let unenforced: [@Sendable (inout TransportRequest) -> Void] = [
        { $0.pins = SSLPinningPolicy.PinSet(publicKeyHashes: ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]) },
        { $0.tls = TLSSettings(minimumVersion: .tls13) },
        { $0.proxy = .direct },
    ]

    @Test(arguments: unenforced.indices)
    func unenforceablePoliciesFailBeforeAnythingIsSent(index: Int) async throws {
        try await MockServer.run { server in
            server.fallback { _ in .text("response") }
            let transport = URLSessionTransport()
            var request = TransportRequest(urlRequest: URLRequest(url: server.baseURL))
            Self.unenforced[index](&request)
            let refused = request
            await #expect {
                try await transport.send(refused)
            } throws: {
                PulseError(wrapping: $0).kind == .unsupported
            }
            #expect(server.requests.isEmpty)
            await transport.shutdown()
        }
    }

    @Test func aSymbolicLinkUploadsItsTarget() async throws {
        let folder = FileManager.default.temporaryDirectory
        let file = folder.appendingPathComponent(UUID().uuidString)
        let link = folder.appendingPathComponent(UUID().uuidString)
        try Data("payload".utf8).write(to: file)
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
        defer { [file, link].forEach { try? FileManager.default.removeItem(at: $0) } }
        try await ClientStage.run(retry: .default, over: URLSessionTransport()) { client, server in
            server.on(.put, "/users/1") { _ in .status(204) }
            _ = try await client.request(Request<EmptyResponse>(.put, "/users/1").body(.file(link)))
            #expect(server.requests.map(\.text) == ["payload"])
            #expect(server.requests.first?.headers["Content-Length"] == "7")
        }
    }

    /// Trap: iOS reclaims sockets in the background; as an unknown error it would prevent a retry.
    @Test(
        arguments: [
            (NSPOSIXErrorDomain, 53, false, .networkConnectionLost),
            ("kCFErrorDomainCFNetwork", 310, false, .cannotConnectToHost),
            ("kCFErrorDomainCFNetwork", 310, true, .networkConnectionLost),
        ] as [(String, Int, Bool, URLError.Code)])
    func errorsOfOtherDomainsCountAsConnectionErrors(
        _ domain: String, _ code: Int, _ hasSent: Bool, _ expected: URLError.Code
    ) {
        let cause = NSError(domain: domain, code: code)
        for hasResponse in [false, true] {
            let error = PulseError(
                wrapping: TransportFailure.meaning(of: cause, hasSent: hasSent || hasResponse, hasResponse: hasResponse)
            )
            guard case .transport(let code, _) = error else {
                Issue.record("\(error)")
                continue
            }
            #expect(code == (hasResponse ? .networkConnectionLost : expected))
            // A proxy that cannot be reached has got nothing.
            let phase: PulseError.Phase = expected == .cannotConnectToHost ? .beforeSend : .maybeSent
            #expect(error.phase == (hasResponse ? .responseStarted : phase))
            #expect(error.isRetryable)
        }
    }

    @Test(
        arguments: [
            ("kCFErrorDomainCFNetwork", 307, "", .status(407)), ("kCFErrorDomainCFNetwork", 311, "", .unknown),
            ("kCFErrorDomainCFNetwork", 122, "", .socksCredentials),
            (NSURLErrorDomain, -1, "CONNECT tunnel failed, response 407", .status(407)),
            (NSURLErrorDomain, -1, "Received HTTP code 502 from proxy after CONNECT", .status(502)),
        ] as [(String, Int, String, PulseError.ProxyRefusal.Reason)])
    func aProxyRefusalHasItsOwnError(
        _ domain: String, _ code: Int, _ text: String, _ reason: PulseError.ProxyRefusal.Reason
    ) {
        let libcurl = NSError(domain: "libcurl", code: 56, userInfo: [NSLocalizedDescriptionKey: text])
        let cause = NSError(domain: domain, code: code, userInfo: [NSUnderlyingErrorKey: libcurl])
        let error = PulseError(wrapping: TransportFailure.meaning(of: cause, hasSent: false, hasResponse: false))
        guard case .proxyRefused(let refusal) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(refusal == PulseError.ProxyRefusal(proxy: nil, reason: reason))
    }

    /// Trap: a connection is lost during a repeatable body, and no policy retries the call.
    @Test func aBodyRequestedTwiceMeansALostConnection() throws {
        let error = TransportFailure.meaning(
            of: URLError(.requestBodyStreamExhausted), hasSent: true, hasResponse: false)
        let failure = try #require(error as? TransportFailure)
        #expect(failure.code == .networkConnectionLost)
        #expect(failure.phase == .maybeSent)
    }

    @Test(
        arguments: [
            ("http://a.test/x?y=1", nil, "http://a.test/x?y=1", nil),
            ("http://ada:a%3Ab@a.test:80/%2Fx?y=%20#z", nil, "http://a.test:80/%2Fx?y=%20#z", "Basic YWRhOmE6Yg=="),
            ("http://ada@a.test", nil, "http://a.test", "Basic YWRhOg=="),
            ("http://ada:b@[::1]/", "Bearer c", "http://[::1]/", "Bearer c"),
        ] as [(String, String?, String, String?)])
    func userInfoBecomesBasicCredentials(
        _ address: String, _ own: String?, _ expected: String, _ authorization: String?
    ) throws {
        var request = URLRequest(url: try #require(URL(string: address)))
        request.setValue(own, forHTTPHeaderField: "Authorization")
        request.sendUserInfo()
        #expect(request.url?.absoluteString == expected)
        #expect(request.value(forHTTPHeaderField: "Authorization") == authorization)
    }

    /// Trap: a call to an unreachable host is not queued.
    @Test(
        arguments: [
            (1, ENETUNREACH, true), (1, EHOSTUNREACH, true), (1, ENETDOWN, true), (1, EHOSTDOWN, true),
            (1, ECONNREFUSED, false), (1, ETIMEDOUT, false), (4, EHOSTUNREACH, false),
        ] as [(Int, Int32, Bool)])
    func aMissingRouteDiffersFromARefusal(_ domain: Int, _ number: Int32, _ expected: Bool) {
        let info = [
            "_kCFStreamErrorDomainKey": NSNumber(value: domain), "_kCFStreamErrorCodeKey": NSNumber(value: number),
        ]
        #expect(URLError.isUnreachable(info) == expected)
        let cause = NSError(domain: "kCFErrorDomainCFNetwork", code: -1004, userInfo: info)
        #expect(URLError.isUnreachable([NSUnderlyingErrorKey: cause]) == expected)
        #expect(!URLError.isUnreachable([:]))
    }

    #if canImport(FoundationNetworking)
    @Test(
        arguments: [
            (0.3, 1), (0, 1), (-5, 1), (1, 1), (1.2, 2), (30, 30), (.infinity, 1_000_000_000), (.nan, 1),
        ] as [(TimeInterval, TimeInterval)])
    func timeoutsAreRoundedUpToSeconds(_ seconds: TimeInterval, _ expected: TimeInterval) {
        #expect(URLSessionTransport.timeoutInterval(seconds) == expected)
    }

    @Test(arguments: [
        ("5", true), ("5, 5", true), ("0", true), ("5, 6", false), ("5x", false), ("-5", false), ("", false),
        ("99999999999999999999", false),
    ])
    func invalidContentLengthsAreRecognized(_ length: String, _ isValid: Bool) throws {
        let url = try #require(URL(string: "http://a.test"))
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["Content-Length": length]))
        #expect(response.hasValidLength == isValid)
    }

    /// Texts of libcurl 7.68 to 8.x, with the codes that Foundation assigns.
    @Test(
        arguments: [
            (
                .unknown, "Failed to connect to a.test port 80 after 0 ms: Couldn't connect to server",
                .notConnectedToInternet, true
            ),
            (
                .cannotConnectToHost, "Failed to connect to a.test port 80: Connection refused", .cannotConnectToHost,
                true
            ),
            (.timedOut, "Connection timed out after 10001 milliseconds", .cannotConnectToHost, true),
            (.cannotFindHost, "Could not resolve host: transfer-closed.test", .cannotFindHost, true),
            (.networkConnectionLost, "Recv failure: Connection reset by peer", .networkConnectionLost, false),
            // An earlier refused address affects the code of every later error.
            (.cannotConnectToHost, "Empty reply from server", .networkConnectionLost, false),
            (.cannotConnectToHost, "Recv failure: Connection reset by peer", .networkConnectionLost, false),
            (.unknown, "Recv failure: Connection timed out", .networkConnectionLost, false),
            (.unknown, "Send failure: Broken pipe", .networkConnectionLost, false),
            (.unknown, "transfer closed with 5 bytes remaining to read", .networkConnectionLost, false),
            (.unknown, "OpenSSL SSL_read: Connection reset by peer, errno 104", .networkConnectionLost, false),
            (.unknown, "SSL certificate problem: self-signed certificate", .serverCertificateUntrusted, true),
            (
                .unknown, "OpenSSL SSL_connect: Connection reset by peer in connection to a.test:443",
                .secureConnectionFailed, true
            ),
            (.unsupportedURL, "Received HTTP/0.9 when not allowed", .badServerResponse, false),
            (
                .unknown, "Error while processing content unencoding: incorrect header check", .cannotDecodeContentData,
                false
            ),
            (.unknown, "Illegal or missing hexadecimal sequence in chunked-encoding", .badServerResponse, false),
            (.unknown, "anything else", .badServerResponse, false),
        ] as [(URLError.Code, String, URLError.Code, Bool)])
    func libcurlTextsInFoundationErrorsAreInterpreted(
        _ code: URLError.Code, _ text: String, _ expected: URLError.Code, _ isBeforeSend: Bool
    ) {
        let cause = NSError(domain: NSURLErrorDomain, code: code.rawValue, userInfo: [NSLocalizedDescriptionKey: text])
        let error = URLError(code, userInfo: [NSUnderlyingErrorKey: cause])
        #expect(error.meaning.code == expected)
        #expect(error.meaning.isBeforeSend == isBeforeSend)
    }

    @Test func anIdleTimeoutNeverCountsAsUnsent() {
        #expect(URLError(.timedOut).meaning == (.timedOut, false))
    }
    #endif
}
