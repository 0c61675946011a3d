// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@testable import PulseNetworking

@Suite(.timeLimit(.minutes(5)))
struct URLSessionTransportTests {
    @Test(arguments: [
        ["a=1"],
        ["a=1; Path=/", "b=2"],
        ["a=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT; Path=/", "b=2; Expires=Thu, 10 Jun 2100 10:18:14 GMT"],
        ["a=x, y, z", "b=", "c=d=e"],
        [""],
        ["no name at all", "a=1"],
    ])
    func separatesCookiesThatWereJoined(_ cookies: [String]) {
        var headers: HTTPHeaders = ["X-A": "b", "Set-Cookie": cookies.joined(separator: ", ")]
        headers.separateCookies()
        #expect(headers.values(for: "Set-Cookie") == cookies)
        #expect(headers["X-A"] == "b")
    }

    @Test(arguments: [
        ("gzip", true), ("GZIP", true), ("gzip, br", true), ("identity", true), ("aws-chunked", false),
        ("gzip, aws-chunked", false), ("", false),
    ])
    func removesFieldsOfCodingsThatAreUndone(_ coding: String, _ isRemoved: Bool) {
        var headers: HTTPHeaders = ["Content-Encoding": coding, "Content-Length": "10"]
        headers.removeDecodedContentFields()
        #expect(headers.contains("Content-Encoding") == !isRemoved)
        #expect(headers.contains("Content-Length") == !isRemoved)
    }

    private static let unenforced: [@Sendable (inout TransportRequest) -> Void] = [
        { $0.pins = PinSet(publicKeyHashes: ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]) },
        { $0.tls = TLSSettings(minimumVersion: .tls13) },
        { $0.proxy = .direct },
    ]

    @Test(arguments: unenforced.indices)
    func refusesWhatItDoesNotEnforceBeforeAnythingIsSent(index: Int) async throws {
        try await MockServer.run { server in
            server.fallback { _ in .text("answer") }
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

    @Test func sendsTheFileThatALinkLeadsTo() async throws {
        let folder = FileManager.default.temporaryDirectory
        let file = folder.appendingPathComponent(UUID().uuidString)
        let link = folder.appendingPathComponent(UUID().uuidString)
        try Data("payload".utf8).write(to: file)
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
        defer { [file, link].forEach { try? FileManager.default.removeItem(at: $0) } }
        try await MockServer.run { server in
            server.on(.put, "/users/1") { _ in try .json(User()) }
            let client = PulseClient(
                configuration: PulseConfiguration.patient(with: server),
                transport: URLSessionTransport(), events: PulseEventBus())
            _ = try await client.request(GetUser(method: .put, body: .file(link)))
            #expect(server.requests.map(\.text) == ["payload"])
            #expect(server.requests.first?.headers["Content-Length"] == "7")
            await client.shutdown()
        }
    }

    #if canImport(FoundationNetworking)
    @Test(
        arguments: [
            (0.3, 1), (0, 1), (-5, 1), (1, 1), (1.2, 2), (30, 30), (.infinity, 1_000_000_000), (.nan, 1),
        ] as [(TimeInterval, TimeInterval)])
    func roundsTimeoutsUpToSeconds(_ seconds: TimeInterval, _ expected: TimeInterval) {
        #expect(URLSessionTransport.timeoutInterval(seconds) == expected)
    }

    @Test(arguments: [
        ("5", true), ("5, 5", true), ("0", true), ("5, 6", false), ("5x", false), ("-5", false), ("", false),
        ("99999999999999999999", false),
    ])
    func knowsContentLengthsThatCannotBeRight(_ length: String, _ isValid: Bool) throws {
        let url = try #require(URL(string: "http://a.test"))
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["Content-Length": length]))
        #expect(response.hasValidLength == isValid)
    }

    /// Texts of libcurl 7.68 to 8.x, with the code that Foundation gives.
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
            // An address that refused before leaves its mark on whatever comes after.
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
    func readsTheTextThatFoundationKeeps(
        _ code: URLError.Code, _ text: String, _ expected: URLError.Code, _ isBeforeSend: Bool
    ) {
        let cause = NSError(domain: NSURLErrorDomain, code: code.rawValue, userInfo: [NSLocalizedDescriptionKey: text])
        let error = URLError(code, userInfo: [NSUnderlyingErrorKey: cause])
        #expect(error.meaning.code == expected)
        #expect(error.meaning.isBeforeSend == isBeforeSend)
    }

    @Test func idleTimeoutIsNeverToldAsUnsent() {
        #expect(URLError(.timedOut).meaning == (.timedOut, false))
    }
    #endif
}
