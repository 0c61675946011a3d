// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

/// The whole text of every kind of error: the failure, its request if the error knows it, and the next step.
@Suite(.throttled)
struct PulseErrorTextTableTests {
    private static let request: URLRequest = {
        var request = URLRequest(url: URL(fileURLWithPath: "/"))
        request.url = URL(string: "https://api.example.com/users/1?token=hunter2&page=2")
        request.httpMethod = "PUT"
        return request
    }()

    private static let shown = "PUT https://api.example.com/users/1?token=***REDACTED***&page=2"

    private static func response(
        _ status: Int, _ type: String? = nil, _ body: String = ""
    ) -> PulseResponse {
        let headers: HTTPHeaders = type.map { ["Content-Type": $0] } ?? [:]
        return PulseResponse(statusCode: status, headers: headers, data: Data(body.utf8), request: request)
    }

    private struct User: Codable {
        let id: Int
        let name: String
    }

    private struct Refusal: Error, CustomStringConvertible {
        let description = "refused with token=hunter2"
    }

    private static func decoding(_ type: String?, _ body: String) -> PulseError {
        #expect(throws: PulseError.self) { try response(200, type, body).decode(User.self) } ?? .emptyBody
    }

    private static let lost = TransportFailure(code: .networkConnectionLost, phase: .maybeSent)
    private static let poolTimeout =
        "waited 60.0 s (poolTimeout) for one of the 6 connections (maxConnectionsPerHost) to h"
    private static let id = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

    private static let table: [(PulseError, String)] = [
        (.invalidURL("no base URL (GET /users)"), "invalid URL: no base URL (GET /users)"),
        (.invalidRequest(reason: "a header (GET /users)"), "invalid request: a header (GET /users)"),
        (
            .encodingFailed(
                underlying: EncodingError.invalidValue(1.5, .init(codingPath: [], debugDescription: "hunter2"))),
            "the body could not be encoded: a Double at $ is not a valid value"
        ),
        (.unsupported("no sockets (GET /users)"), "unsupported: no sockets (GET /users)"),
        (.noConnection, "no connection: there is no path to the network, and nothing was sent"),
        (
            .timeout(request),
            "timed out: PUT https://api.example.com/users/1, no byte was sent or received for the idle timeout"
        ),
        (
            PulseError(wrapping: lost, request: request),
            "transport failed: networkConnectionLost, maybeSent, \(shown)"
        ),
        (
            PulseError(wrapping: URLError(.cannotFindHost), request: request),
            "transport failed: cannotFindHost, https://api.example.com/users/1"
        ),
        (
            PulseError(
                wrapping: PulseError.PoolTimeout(host: "h", limit: 60, connections: 6).failure, request: request),
            "transport failed: timedOut, beforeSend: PoolTimeout: \(poolTimeout), \(shown)"
        ),
        (
            .sslPinningFailed(host: "h"),
            "no pinned key in the certificate chain of h; the event pinningFailed names the keys that it has"
        ),
        (
            .proxyRefused(PulseError.ProxyRefusal(proxy: "proxy.test:3128", reason: .status(407))),
            "the proxy proxy.test:3128 refused the connection: status 407"
        ),
        (.cancelled, "cancelled by the calling task, or by cancelAll or shutdown of the client"),
        (.deadlineExceeded(last: nil), "deadline exceeded: the call had no response by its deadline"),
        (
            .deadlineExceeded(last: .http(response(503))),
            "deadline exceeded, after: HTTP error: 503 for \(shown), 0 bytes"
        ),
        (.unauthorized(), "unauthorized: there is no valid token, and no response to show"),
        (.unauthorized(response(401)), "unauthorized: 401 for \(shown), 0 bytes"),
        (.sessionExpired, "session expired: it cannot be refreshed, the user has to log in"),
        (.rateLimited(retryAfter: 3), "rate limited, retry after 3.0 s"),
        (.rateLimited(retryAfter: nil), "rate limited, without a time to retry after"),
        (.http(response(404, "text/html", "<p>")), "HTTP error: 404 for \(shown), 3 bytes"),
        (
            decoding("text/html; charset=utf-8", "\n<!DOCTYPE html><p>hunter2"),
            "the body does not decode as User: it is not JSON, it begins like HTML or XML (status 200, text/html read as "
                + "application/json, 26 bytes, \(shown))"
        ),
        (
            decoding(nil, "hunter2"),
            "the body does not decode as User: it is not JSON (status 200, no Content-Type read as application/json, 7 bytes, "
                + "\(shown))"
        ),
        (
            decoding("application/json", #"{"id": "hunter2"}"#),
            "the body does not decode as User: $.id is a string, expected Int (status 200, application/json, 17 bytes, \(shown))"
        ),
        (
            decoding("application/json", #"{"id": {}}"#),
            "the body does not decode as User: $.id is an object, expected Int (status 200, application/json, 10 bytes, \(shown))"
        ),
        (
            decoding("Application/JSON", #"{"id": 1}"#),
            "the body does not decode as User: $.name is missing (status 200, Application/JSON, 9 bytes, \(shown))"
        ),
        (
            decoding("application/json", #"{"id": 1, "name": null}"#),
            "the body does not decode as User: $.name is null, expected String (status 200, application/json, 23 bytes, \(shown))"
        ),
        (
            decoding("application/json", #"{"id": 1.5}"#),
            "the body does not decode as User: it is JSON, with a value that does not fit its type (status 200, application/json, 11 bytes, \(shown))"
        ),
        (
            decoding("hunter2", "[]"),
            "the body does not decode as User: $ is an array, expected Dictionary<String, Any> (status 200, no media type read as "
                + "application/json, 2 bytes, \(shown))"
        ),
        (
            .decodingFailed(type: "User", underlying: Refusal()),
            "the body does not decode as User: Refusal: refused with token=***REDACTED***"
        ),
        (.emptyBody, "the body is empty; for a call that may have none ask for an optional, or for EmptyResponse"),
        (.responseTooLarge(limit: 9), "the body, or one line or event of a stream, is larger than its limit, 9 bytes"),
        (.circuitOpen(name: "h", retryAfter: 5), "the circuit of h is open, retry after 5.0 s"),
        (.circuitOpen(name: "h", retryAfter: .infinity), "the circuit of h is open, until it is reset manually"),
        (
            .retryExhausted(last: .http(response(503)), attempts: 3),
            "failed after 3 attempts: HTTP error: 503 for \(shown), 0 bytes"
        ),
        (.cacheMiss, "not in the cache, and the call asks for nothing else (onlyIfCached)"),
        (
            .queuedOffline(id: id),
            "not sent yet: in the offline queue as 01020304-0506-0708-090A-0B0C0D0E0F10, to be sent later"
        ),
        (.offlineQueueFull, "the offline queue is full, and the call is not in it (maxQueueSize, whenFull)"),
        (.graphQL([GraphQLError(message: "no field x")]), "GraphQL: no field x"),
        (.socketClosed(code: 1008, reason: "policy"), "socket closed, 1008: policy"),
        (.custom(Refusal()), "Refusal: refused with token=***REDACTED***"),
    ]

    @Test func theTableHasEveryKind() {
        #expect(Set(Self.table.map(\.0.kind)) == Set(PulseError.Kind.allCases))
    }

    @Test(arguments: table.indices)
    func eachErrorHasItsDocumentedText(index: Int) {
        let (error, text) = Self.table[index]
        #expect(error.description == text)
        #expect(!error.description.contains("hunter2"))
        #expect(!PulseError.Summary(error).message.contains("hunter2"))
        #expect(!PulseError.Summary(error).message.contains("https://"), "no URL in an event")
    }

    @Test func aDecodingErrorKeepsItsTypeAndCause() throws {
        guard case .decodingFailed("User", let underlying) = Self.decoding("text/html", "<p>"),
            case DecodingError.dataCorrupted(let context)? = underlying as? DecodingError,
            let note = context.underlyingError as? BodyNote
        else {
            Issue.record("another error")
            return
        }
        #expect(context.codingPath.isEmpty && !context.debugDescription.isEmpty)
        #expect(note.status == 200)
        let plain = #expect(throws: DecodingError.self) { try JSONDecoder().decode(User.self, from: Data("<p>".utf8)) }
        guard case .dataCorrupted(let original)? = plain else { return }
        #expect((note.underlying == nil) == (original.underlyingError == nil))
    }

    @Test func aFailureKeepsTheRequestThatItNames() {
        var other = Self.request
        other.url = URL(string: "https://other.example.com")
        let first = PulseError(wrapping: Self.lost, request: Self.request)
        guard case .transport(_, let underlying) = first else {
            Issue.record("\(first)")
            return
        }
        #expect(PulseError(wrapping: underlying, request: other).description == first.description)
    }

    @Test(arguments: [
        ("/users/{id}", ["userID": "7"], "no value for {id}; it expects id and got userID"),
        (
            "/users/{id}/repos/{name}", ["id": "7", "nmae": "x"],
            "no value for {name}; it expects id, name and got id, nmae"
        ),
        ("/users/{id}", [:], "no value for {id}; it expects id and got nothing"),
        (
            "/users/{id}", ["id": "7", "page": "2"],
            "no placeholder for the value of page; it expects id and got id, page"
        ),
        ("/users", ["id": "7"], "no placeholder for the value of id; it expects nothing and got id"),
    ])
    func aTemplateErrorListsExpectedAndGivenNames(
        template: String, values: [String: String], reason: String
    ) {
        let error = #expect(throws: PulseError.self) { try PathTemplate(template).expand(values) }
        #expect(error?.description == "invalid request: path template \(template): \(reason)")
    }
}
