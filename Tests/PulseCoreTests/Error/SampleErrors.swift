// SPDX-License-Identifier: MIT

import PulseCore
import Testing

/// At least one error of every kind with its expected traits: the table of the design and the README.
enum SampleErrors {
    struct Sample: Sendable, CustomTestStringConvertible {
        let error: PulseError
        let kind: PulseError.Kind
        var isRetryable = false
        var phase: PulseError.Phase?
        var status: Int?
        var retryAfter: TimeInterval?

        var testDescription: String { "\(kind) \(error)" }
    }

    private struct Other: Error {}

    static let request = URLRequest(url: URL(fileURLWithPath: "/x"))

    static func response(_ status: Int, _ headers: HTTPHeaders = [:]) -> PulseResponse {
        PulseResponse(statusCode: status, headers: headers, request: request)
    }

    private static func transport(_ code: URLError.Code) -> PulseError {
        .transport(code, underlying: URLError(code))
    }

    private static func failure(_ code: URLError.Code, _ phase: PulseError.Phase) -> PulseError {
        .transport(code, underlying: TransportFailure(code: code, phase: phase))
    }

    static let all: [Sample] = [
        Sample(error: .invalidURL("x"), kind: .invalidURL, phase: .beforeSend),
        Sample(error: .invalidRequest(reason: "x"), kind: .invalidRequest, phase: .beforeSend),
        Sample(error: .encodingFailed(underlying: Other()), kind: .encodingFailed, phase: .beforeSend),
        Sample(error: .unsupported("x"), kind: .unsupported, phase: .beforeSend),

        Sample(error: .noConnection, kind: .noConnection, isRetryable: true, phase: .beforeSend),
        Sample(error: .timeout(request), kind: .timeout, isRetryable: true, phase: .maybeSent),
        // Of the bare URLErrors, only name resolution and connecting certainly precede the request.
        Sample(error: transport(.cannotFindHost), kind: .transport, isRetryable: true, phase: .beforeSend),
        Sample(error: transport(.dnsLookupFailed), kind: .transport, isRetryable: true, phase: .beforeSend),
        Sample(error: transport(.cannotConnectToHost), kind: .transport, isRetryable: true, phase: .beforeSend),
        Sample(error: transport(.networkConnectionLost), kind: .transport, isRetryable: true, phase: .maybeSent),
        Sample(error: transport(.timedOut), kind: .transport, isRetryable: true, phase: .maybeSent),
        Sample(error: transport(.secureConnectionFailed), kind: .transport, isRetryable: true, phase: .maybeSent),
        Sample(error: transport(.serverCertificateUntrusted), kind: .transport, phase: .maybeSent),
        Sample(error: transport(.badServerResponse), kind: .transport, phase: .maybeSent),
        Sample(error: transport(.httpTooManyRedirects), kind: .transport, phase: .maybeSent),
        // A transport that knows the phase reports it.
        Sample(
            error: failure(.networkConnectionLost, .beforeSend), kind: .transport, isRetryable: true, phase: .beforeSend
        ),
        Sample(
            error: failure(.networkConnectionLost, .maybeSent), kind: .transport, isRetryable: true, phase: .maybeSent),
        Sample(
            error: failure(.networkConnectionLost, .responseStarted), kind: .transport, isRetryable: true,
            phase: .responseStarted),
        Sample(
            error: failure(.secureConnectionFailed, .beforeSend), kind: .transport, isRetryable: true,
            phase: .beforeSend),
        Sample(
            error: failure(.cannotConnectToHost, .beforeSend), kind: .transport, isRetryable: true, phase: .beforeSend),
        // The requests of the client itself were in the way.
        Sample(
            error: PulseError(wrapping: PulseError.PoolTimeout(host: "h", limit: 60, connections: 6).failure),
            kind: .transport,
            phase: .beforeSend),
        Sample(error: .sslPinningFailed(host: "h"), kind: .sslPinningFailed, phase: .beforeSend),
        Sample(
            error: .proxyRefused(PulseError.ProxyRefusal(proxy: "p:1", reason: .status(407))), kind: .proxyRefused,
            phase: .beforeSend, status: 407),
        // A status that would be retried if a server sent it.
        Sample(
            error: .proxyRefused(PulseError.ProxyRefusal(proxy: "p:1", reason: .status(503))), kind: .proxyRefused,
            phase: .beforeSend, status: 503),
        Sample(
            error: .proxyRefused(PulseError.ProxyRefusal(proxy: nil, reason: .socksReply(2))), kind: .proxyRefused,
            phase: .beforeSend),
        Sample(error: .cancelled, kind: .cancelled),
        Sample(error: .deadlineExceeded(last: nil), kind: .deadlineExceeded, phase: .maybeSent),
        Sample(
            error: .deadlineExceeded(last: .http(response(503, ["Retry-After": "7"]))), kind: .deadlineExceeded,
            phase: .maybeSent, status: 503, retryAfter: 7),
        Sample(error: .deadlineExceeded(last: .noConnection), kind: .deadlineExceeded, phase: .maybeSent),

        Sample(error: .unauthorized(), kind: .unauthorized, phase: .responseStarted, status: 401),
        Sample(error: .unauthorized(response(401)), kind: .unauthorized, phase: .responseStarted, status: 401),
        Sample(error: .sessionExpired, kind: .sessionExpired),
        Sample(
            error: .rateLimited(retryAfter: nil), kind: .rateLimited, isRetryable: true, phase: .responseStarted,
            status: 429),
        Sample(
            error: .rateLimited(retryAfter: 3), kind: .rateLimited, isRetryable: true, phase: .responseStarted,
            status: 429, retryAfter: 3),
        Sample(
            error: .http(response(503, ["Retry-After": "30"])), kind: .http, isRetryable: true, phase: .responseStarted,
            status: 503, retryAfter: 30),
        Sample(error: .http(response(404)), kind: .http, phase: .responseStarted, status: 404),
        Sample(error: .http(response(501)), kind: .http, phase: .responseStarted, status: 501),
        Sample(error: .http(response(505)), kind: .http, phase: .responseStarted, status: 505),
        Sample(error: .http(response(304)), kind: .http, phase: .responseStarted, status: 304),

        Sample(
            error: .decodingFailed(type: "T", underlying: Other()), kind: .decodingFailed, phase: .responseStarted),
        Sample(error: .emptyBody, kind: .emptyBody, phase: .responseStarted),
        Sample(error: .responseTooLarge(limit: 1), kind: .responseTooLarge, phase: .responseStarted),

        Sample(
            error: .circuitOpen(name: "n", retryAfter: 5), kind: .circuitOpen, phase: .beforeSend, retryAfter: 5),
        Sample(
            error: .retryExhausted(last: .rateLimited(retryAfter: 9), attempts: 3), kind: .retryExhausted,
            isRetryable: true, phase: .responseStarted, status: 429, retryAfter: 9),
        Sample(
            error: .retryExhausted(last: .noConnection, attempts: 3), kind: .retryExhausted, isRetryable: true,
            phase: .beforeSend),
        Sample(error: .cacheMiss, kind: .cacheMiss, phase: .beforeSend),
        Sample(error: .queuedOffline(id: UUID()), kind: .queuedOffline, phase: .beforeSend),
        Sample(error: .offlineQueueFull, kind: .offlineQueueFull, phase: .beforeSend),
        Sample(error: .graphQL([GraphQLError(message: "x")]), kind: .graphQL, phase: .responseStarted),
        Sample(error: .socketClosed(code: 1000, reason: ""), kind: .socketClosed),
        Sample(error: .custom(Other()), kind: .custom),
    ]
}
