// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

/// The texts of printed errors. In these tests the secret is always `hunter2`, and `page` may be shown.
@Suite(.throttled)
struct PulseErrorTextTests {
    private struct Quoting: Error, Sendable {
        let url = "https://user:hunter2@api.example.com/v1?access_token=hunter2&page=7"
        let authorization = "Bearer hunter2"
        let password = "hunter2"
    }

    private struct Named: Error, LocalizedError {
        var errorDescription: String? { "see https://api.example.com/v1?access_token=hunter2" }
    }

    private struct Refused: Error, CustomStringConvertible {
        private let fields = ["X-API-Key": "hunter2", "Set-Cookie": "a=hunter2; Path=/", "X-Request-ID": "page"]

        /// Prints them as `HTTPURLResponse` has them.
        var description: String { "refused with \(fields as [AnyHashable: Any])" }
    }

    /// Its name looks like that of a secret.
    private struct TokenFailure: Error, CustomStringConvertible {
        let description: String
    }

    @Test func theNameOfATypeIsNoKeyOfASecret() {
        let plain = TokenFailure(description: "reading failed, since the device is locked")
        #expect("\(PulseError.custom(plain))" == "TokenFailure: reading failed, since the device is locked")
        let telling = TokenFailure(description: "token: hunter2")
        #expect(!"\(PulseError.custom(telling))".contains("hunter2"))
    }

    private enum Key: String, CodingKey { case id, items }

    private static func secretRequest() -> URLRequest {
        let text = "https://user:hunter2@api.example.com/v1?access_token=hunter2&page=7#id_token=hunter2"
        guard let url = URL(string: text) else { return SampleErrors.request }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("Bearer hunter2", forHTTPHeaderField: "Authorization")
        request.setValue("hunter2", forHTTPHeaderField: "X-Plain")
        request.httpBody = Data("hunter2".utf8)
        return request
    }

    private static func secretResponse(_ status: Int) -> PulseResponse {
        PulseResponse(
            statusCode: status, headers: ["Set-Cookie": "session=hunter2", "X-Plain": "hunter2"],
            data: Data(#"{"password":"hunter2"}"#.utf8), request: secretRequest())
    }

    private static func context(_ text: String = "quotes hunter2") -> DecodingError.Context {
        DecodingError.Context(codingPath: [Key.items, Key.id], debugDescription: text, underlyingError: Quoting())
    }

    private static let failingURL = URLError(
        .cannotFindHost,
        userInfo: [
            NSURLErrorFailingURLErrorKey: secretRequest().url as Any,
            NSLocalizedDescriptionKey: "hunter2",
        ])

    private static let errors: [PulseError] = [
        .invalidURL("https://user:hunter2@h/?access_token=hunter2"),
        .invalidRequest(reason: "Authorization: Bearer hunter2"),
        .encodingFailed(
            underlying: EncodingError.invalidValue(
                "hunter2", EncodingError.Context(codingPath: [Key.id], debugDescription: "hunter2 does not fit"))),
        .encodingFailed(underlying: Quoting()),
        .unsupported("https://h/?access_token=hunter2"),
        .noConnection,
        .timeout(secretRequest()),
        .transport(.cannotFindHost, underlying: failingURL),
        .transport(
            .networkConnectionLost,
            underlying: TransportFailure(code: .networkConnectionLost, phase: .maybeSent, underlying: Quoting())),
        .transport(
            .badServerResponse,
            underlying: TransportFailure(code: .badServerResponse, phase: .maybeSent, underlying: failingURL)),
        .transport(.httpTooManyRedirects, underlying: PulseError.http(secretResponse(302))),
        .transport(.badServerResponse, underlying: Quoting()),
        .sslPinningFailed(host: "api.example.com"),
        .cancelled,
        .deadlineExceeded(last: .timeout(secretRequest())),
        .unauthorized(secretResponse(401)),
        .sessionExpired,
        .rateLimited(retryAfter: 3),
        .http(secretResponse(500)),
        .decodingFailed(type: "User", underlying: DecodingError.typeMismatch(Int.self, context())),
        .decodingFailed(type: "User", underlying: DecodingError.valueNotFound(Int.self, context())),
        .decodingFailed(type: "User", underlying: DecodingError.keyNotFound(Key.id, context())),
        .decodingFailed(type: "User", underlying: DecodingError.dataCorrupted(context())),
        .decodingFailed(type: "User", underlying: Quoting()),
        .emptyBody,
        .responseTooLarge(limit: 1),
        .circuitOpen(name: "https://api.example.com?access_token=hunter2", retryAfter: 1),
        .retryExhausted(last: .http(secretResponse(503)), attempts: 3),
        .cacheMiss,
        .queuedOffline(id: UUID()),
        .offlineQueueFull,
        .proxyRefused(PulseError.ProxyRefusal(proxy: "proxy.test:3128", reason: .status(407))),
        .graphQL([GraphQLError(message: "access_token=hunter2", extensions: ["password": "hunter2"])]),
        .socketClosed(code: 1008, reason: "access_token=hunter2"),
        .custom(Quoting()),
        .custom(Named()),
        .custom(Refused()),
        .custom(secretResponse(500).asError),
    ]

    @Test
    func theTestedErrorsCoverEveryKind() {
        #expect(Set(Self.errors.map(\.kind)) == Set(PulseError.Kind.allCases))
    }

    @Test(arguments: errors.indices)
    func noTextOfAnErrorShowsASecret(index: Int) {
        let error = Self.errors[index]
        let wrapped: [Any] = [error, Optional(error) as Any, [error], Result<Int, PulseError>.failure(error)]
        let shown = wrapped.flatMap(texts) + [error.localizedDescription, error.errorDescription ?? ""]
        for text in shown {
            #expect(!text.contains("hunter2"), "\(error.kind)")
            #expect(!text.isEmpty)
        }
        #expect(!error.description.contains("\n"), "one line")
    }

    @Test(arguments: errors.indices)
    func aSummaryShowsNoURLAndNoTextOfTheServer(index: Int) {
        let summary = PulseError.Summary(Self.errors[index])
        #expect(summary.kind == Self.errors[index].kind)
        #expect(summary.statusCode == Self.errors[index].statusCode)
        for text in texts(of: summary) + [summary.message] {
            #expect(!text.contains("hunter2"))
            #expect(!text.contains("page"))
            #expect(!text.contains("?"))
        }
    }

    @Test
    func aDecodingErrorNamesOnlyDeclaredKeys() throws {
        struct Team: Decodable {
            enum CodingKeys: String, CodingKey { case people = "members" }
            struct Person: Decodable { let age: Int }
            let people: [String: [Person]]
        }
        struct Free: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
        struct Dynamic: Decodable {
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Free.self)
                for key in container.allKeys { _ = try container.decode(Int.self, forKey: key) }
            }
        }
        func text<Value: Decodable>(_ type: Value.Type, _ body: String) -> String {
            let response = PulseResponse(statusCode: 200, data: Data(body.utf8), request: .mock())
            return #expect(throws: PulseError.self) { try response.decode(type) }?.description ?? "decoded"
        }
        let people = #"{"members":{"ada@example.com":[{"age":1},{"age":"hunter2"}]}}"#
        let wrongType = "the body does not decode as Team: $.members.*[1].age is a string, expected Int ("
        #expect(text(Team.self, people).hasPrefix(wrongType))
        #expect(text(Team.self, #"{"members":{"hunter2":[{}]}}"#).contains(": $.members.*[0].age is missing ("))
        #expect(text(Dynamic.self, #"{"hunter2":"x"}"#).contains(": $.* is a string, expected Int ("))
        #expect(text([String: Int].self, #"{"hunter2":null}"#).contains("$.* is null"))
        let unencodable = #expect(throws: (any Error).self) { try JSONEncoder().encode(["hunter2": Double.nan]) }
        let error = PulseError.encodingFailed(underlying: try #require(unencodable))
        #expect(error.description == "the body could not be encoded: a Double at $.* is not a valid value")
    }

    @Test func theErrorOfAFileNamesItsPathAndNoDomain() {
        let file = URL(fileURLWithPath: "/tmp/token=hunter2/film.mov")
        let missing = PulseError.encodingFailed(underlying: FileFault.naming(CocoaError(.fileReadNoSuchFile), file))
        #expect(missing.description.hasPrefix("the body could not be encoded: no such file: /tmp/token="))
        #expect(!missing.description.contains("hunter2"))
        #expect(PulseError.Summary(missing).message == "the body could not be encoded: no such file")
        let full = TransportFailure(
            code: .cannotWriteToFile, phase: .responseStarted,
            underlying: FileFault.naming(POSIXError(.ENOSPC), URL(fileURLWithPath: "/tmp/film.mov")))
        #expect(full.description.hasPrefix("cannotWriteToFile, responseStarted: "))
        #expect(full.description.hasSuffix(": /tmp/film.mov") && !full.description.contains("Domain"))
        // The first name is that of the file which failed.
        let named = FileFault.naming(FileFault.naming(POSIXError(.ENOSPC), file), URL(fileURLWithPath: "/other"))
        #expect(!PulseError.custom(named).description.contains("other"))
        #expect(FileFault.naming(PulseError.emptyBody, file) is PulseError)
    }

    @Test func aTransferFailureNamesTheFileAndTheRequest() throws {
        let file = URL(fileURLWithPath: "/tmp/film.mov")
        let error = TransferFailure.busy.asPulseError
        let named = error.naming(request: PulseError.text(of: Self.secretRequest()), file: file)
        let text = named.description
        #expect(text.contains("/tmp/film.mov, POST https://") && text.contains("page=7"), "\(text)")
        #expect(!text.contains("hunter2"), "\(text)")
        guard case .transport(.cannotWriteToFile, TransferFailure.busy) = named else {
            Issue.record("\(named)")
            return
        }
        let again = named.naming(request: "GET https://other.example", file: URL(fileURLWithPath: "/other"))
        #expect(again.description == text)
        #expect(!PulseError.Summary(named).message.contains("film.mov"))
        #expect(TransferFailure(.busy, file: file) == .busy && TransferFailure.busy != .fileExists)
    }

    @Test func aLostTransferNamesItsFileOnce() {
        let file = URL(fileURLWithPath: "/tmp/film.mov")
        let lost = TransportFailure(code: .networkConnectionLost, phase: .maybeSent)
        let named = PulseError(wrapping: lost).naming(request: "PUT https://a.example")
            .naming(request: "PUT https://b.example", file: file)
        let text = "transport failed: networkConnectionLost, maybeSent, PUT https://a.example, /tmp/film.mov"
        #expect(named.description == text)
        #expect(named.naming(request: nil, file: file).description == text)
        let full = TransportFailure(
            code: .cannotWriteToFile, phase: .responseStarted,
            underlying: FileFault.naming(POSIXError(.ENOSPC), file))
        let shown = PulseError(wrapping: full).naming(request: "GET https://a.example", file: file).description
        #expect(shown.hasSuffix(": /tmp/film.mov, GET https://a.example"), "\(shown)")
    }

    @Test func aTransportFailureKeepsTheRequestThatItHas() {
        let lost = PulseError(wrapping: TransportFailure(code: .networkConnectionLost, phase: .responseStarted))
        let named = lost.naming(request: "GET https://a.example")
        #expect(named.description == "transport failed: networkConnectionLost, responseStarted, GET https://a.example")
        #expect(named.naming(request: "GET https://b.example").description == named.description)
        #expect(lost.naming(request: nil).description == lost.description)
        #expect(named.phase == .responseStarted)
    }

    @Test
    func onlySecretHeaderFieldsAreMasked() {
        let text = PulseError.custom(Refused()).description
        for (name, value) in [
            ("X-API-Key", Redaction.mask), ("Set-Cookie", Redaction.mask), ("X-Request-ID", "page"),
        ] {
            #expect(text.contains("AnyHashable(\"\(name)\"): \"\(value)\""), "\(text)")
        }
    }

    @Test
    func wrappersOfResponsesShowNoSecret() {
        let response = Self.secretResponse(200)
        let failure = TransportFailure(code: .timedOut, phase: .beforeSend, underlying: Quoting())
        let values: [Any] = [response, Optional(response) as Any, [response], response.headers, failure]
        for text in values.flatMap(texts) + [failure.localizedDescription] {
            #expect(!text.contains("session=hunter2") && !text.contains("Bearer hunter2"))
            #expect(!text.contains("access_token=hunter2") && !text.contains("user:hunter2"))
        }
        for text in texts(of: response) + texts(of: failure) { #expect(!text.contains("hunter2")) }
    }

    @Test(arguments: [
        (PulseError.noConnection, "no connection"),
        (.timeout(secretRequest()), "timed out: POST https://"),
        (.http(secretResponse(503)), "HTTP error: 503 for POST https://"),
        (.transport(.cannotFindHost, underlying: failingURL), "transport failed: cannotFindHost"),
        (
            .transport(.timedOut, underlying: TransportFailure(code: .timedOut, phase: .maybeSent)),
            "transport failed: timedOut, maybeSent"
        ),
        (
            .transport(.networkConnectionLost, underlying: URLError(.notConnectedToInternet)),
            "transport failed: networkConnectionLost (notConnectedToInternet)"
        ),
        (.rateLimited(retryAfter: 3), "rate limited, retry after 3.0 s"),
        (
            .decodingFailed(type: "User", underlying: DecodingError.typeMismatch(Int.self, context())),
            "the body does not decode as User: $.items.id is not Int"
        ),
        (
            .decodingFailed(type: "User", underlying: DecodingError.keyNotFound(Key.id, context())),
            "the body does not decode as User: $.items.id.id is missing"
        ),
        (.deadlineExceeded(last: .noConnection), "deadline exceeded, after: no connection"),
        (.retryExhausted(last: .emptyBody, attempts: 3), "failed after 3 attempts: the body is empty"),
        (.sslPinningFailed(host: "api.example.com"), "no pinned key in the certificate chain of api.example.com"),
    ])
    func theDescriptionStartsWithTheFailure(error: PulseError, beginning: String) {
        #expect(error.description.hasPrefix(beginning), "\(error)")
        #expect(error.localizedDescription == error.description)
        #expect("\(error)" == error.description)
    }

    /// Text of a server that would set the title of a terminal, start another line of a log and turn the rest around.
    private static let hostile = "a\u{1B}]0;x\u{7}\r\nb\u{7F}\u{9B}2K\u{85}\u{2028}\u{2029}\u{202E}\u{2066}c"

    private static let foreign = TokenFailure(description: hostile)

    @Test(
        arguments: [
            PulseError.socketClosed(code: 4000, reason: hostile), PulseError.graphQL([GraphQLError(message: hostile)]),
            PulseError.custom(foreign), PulseError.invalidURL(hostile), PulseError.unsupported(hostile),
            PulseError.encodingFailed(underlying: foreign), PulseError.sslPinningFailed(host: hostile),
            PulseError.decodingFailed(type: "User", underlying: foreign),
            PulseError.circuitOpen(name: hostile, retryAfter: 1),
            PulseError.transport(.badServerResponse, underlying: foreign),
            PulseError.retryExhausted(last: .deadlineExceeded(last: .custom(foreign)), attempts: 2),
            GraphQLError(message: hostile),
            TransportFailure(code: .badServerResponse, phase: .responseStarted, underlying: foreign),
        ] as [any Error & Sendable])
    func textOfAServerIsOnOneLineWithoutControls(error: any Error & Sendable) {
        for text in ["\(error)", String(reflecting: error), error.localizedDescription] {
            #expect(text == text.onOneLine)
        }
        #expect("\(error)".contains(#"a\u{1B}]0;x\u{07}\r\nb\u{7F}\u{009B}2K"#))
    }

    @Test
    func aJSONDecodingErrorShowsNoValues() throws {
        struct User: Decodable { let id: Int, email: [String: Int] }
        for body in [#"{"id":"hunter2"}"#, #"{"id":1,"email":"hunter2"}"#, #"{"id":hunter2"#, #""hunter2""#] {
            let response = PulseResponse(statusCode: 200, data: Data(body.utf8), request: try request())
            let error = #expect(throws: PulseError.self) { try response.decode(User.self) }
            for text in texts(of: error as Any) { #expect(!text.contains("hunter2")) }
        }
    }
}

extension PulseResponse {
    private struct Carrying: Error {
        let response: PulseResponse
    }

    fileprivate var asError: any Error & Sendable { Carrying(response: self) }
}
