// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct PulseErrorTraitsTests {
    private struct Other: Error {}

    @Test(arguments: SampleErrors.all)
    func everyErrorHasItsDocumentedTraits(sample: SampleErrors.Sample) {
        #expect(sample.error.kind == sample.kind)
        #expect(sample.error.isRetryable == sample.isRetryable)
        #expect(sample.error.phase == sample.phase)
        #expect(sample.error.statusCode == sample.status)
        #expect(sample.error.retryAfter == sample.retryAfter)
    }

    @Test(arguments: [PulseError.Phase.beforeSend, .maybeSent, .responseStarted], [false, true])
    func aTransportFailureReportsAStaleConnection(phase: PulseError.Phase, isStale: Bool) {
        let failure = TransportFailure(code: .networkConnectionLost, phase: phase, isStaleConnection: isStale)
        let error = PulseError(wrapping: failure)
        #expect(error.isStaleConnection == isStale)
        #expect(error.phase == phase)
        #expect(PulseError.retryExhausted(last: error, attempts: 2).isStaleConnection == isStale)
        #expect("\(error)".contains("stale") == isStale)
    }

    @Test(arguments: SampleErrors.all)
    func noOtherErrorIsAStaleConnection(sample: SampleErrors.Sample) {
        #expect(!sample.error.isStaleConnection)
        #expect(!PulseError.deadlineExceeded(last: sample.error).isStaleConnection)
    }

    @Test
    func theSamplesCoverEveryKind() {
        #expect(Set(SampleErrors.all.map(\.kind)) == Set(PulseError.Kind.allCases))
    }

    @Test
    func anErrorReturnsItsResponse() {
        let response = SampleErrors.response(503)
        #expect(PulseError.http(response).response?.statusCode == 503)
        #expect(PulseError.unauthorized(response).response?.statusCode == 503)
        #expect(PulseError.unauthorized().response == nil)
        #expect(PulseError.retryExhausted(last: .http(response), attempts: 2).response?.statusCode == 503)
        #expect(PulseError.deadlineExceeded(last: .http(response)).response?.statusCode == 503)
        #expect(PulseError.deadlineExceeded(last: nil).response == nil)
        #expect(PulseError.rateLimited(retryAfter: 1).response == nil)
        #expect(PulseError.noConnection.response == nil)
    }

    @Test
    func aRetryAfterDateIsRelativeToTheGivenClock() {
        let now = Date(timeIntervalSince1970: 1_767_225_600)
        let error = PulseError.http(SampleErrors.response(503, ["Retry-After": "Thu, 01 Jan 2026 00:00:45 GMT"]))
        #expect(error.retryAfter(now: now) == 45)
        #expect(error.retryAfter(now: now.addingTimeInterval(60)) == 0)
        #expect(PulseError.retryExhausted(last: error, attempts: 3).retryAfter(now: now) == 45)
    }

    // MARK: From a response

    @Test(
        arguments: [
            (200, RequestOptions.AcceptedStatuses.successful, nil), (299, .successful, nil),
            (304, .successful(and: 304), nil),
            (500, .any, nil), (401, .any, nil), (429, .only(429), nil),
            (401, .successful, .unauthorized), (429, .successful, .rateLimited), (199, .successful, .http),
            (300, .successful, .http), (302, .successful, .http), (304, .successful, .http), (400, .successful, .http),
            (403, .successful, .http), (404, .successful, .http), (407, .successful, .http), (500, .successful, .http),
            (503, .successful, .http), (200, .only(201), .http),
        ] as [(Int, RequestOptions.AcceptedStatuses, PulseError.Kind?)])
    func aStatusIsValidatedAgainstTheAcceptedStatuses(
        status: Int, accepted: RequestOptions.AcceptedStatuses, kind: PulseError.Kind?
    ) {
        let error = PulseError(validating: SampleErrors.response(status), accepted: accepted)
        #expect(error?.kind == kind)
        #expect(error?.statusCode == (kind == nil ? nil : status))
    }

    @Test
    func retryAfterIsReadFromTheResponse() {
        let now = Date(timeIntervalSince1970: 1_767_225_600)
        let limited = SampleErrors.response(429, ["Retry-After": "Thu, 01 Jan 2026 00:00:07 GMT"])
        let error = PulseError(validating: limited, accepted: .successful, now: now)
        guard case .rateLimited(let seconds) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(seconds == 7)
        let unauthorized = PulseError(validating: SampleErrors.response(401, ["A": "b"]), accepted: .successful)
        #expect(unauthorized?.response?.headers["a"] == "b")
    }

    // MARK: From any error

    @Test(arguments: SampleErrors.all)
    func aPulseErrorIsWrappedUnchanged(sample: SampleErrors.Sample) {
        let wrapped = PulseError(wrapping: sample.error)
        #expect(wrapped.kind == sample.kind)
        #expect(wrapped.description == sample.error.description)
    }

    @Test(
        arguments: [
            (CancellationError(), .cancelled, nil, nil), (Other(), .custom, nil, nil),
            (URLError(.cancelled), .cancelled, nil, nil),
            (URLError(.notConnectedToInternet), .noConnection, nil, .beforeSend),
            (URLError(.dataNotAllowed), .noConnection, nil, .beforeSend),
            (URLError(.internationalRoamingOff), .noConnection, nil, .beforeSend),
            (URLError(.callIsActive), .noConnection, nil, .beforeSend),
            (URLError(.timedOut), .transport, .timedOut, .maybeSent),
            (URLError(.cannotFindHost), .transport, .cannotFindHost, .beforeSend),
            (URLError(.dnsLookupFailed), .transport, .dnsLookupFailed, .beforeSend),
            (URLError(.cannotConnectToHost), .transport, .cannotConnectToHost, .beforeSend),
            (URLError(.networkConnectionLost), .transport, .networkConnectionLost, .maybeSent),
            (URLError(.secureConnectionFailed), .transport, .secureConnectionFailed, .maybeSent),
            (URLError(.badServerResponse), .transport, .badServerResponse, .maybeSent),
            (TransportFailure(code: .cancelled, phase: .maybeSent), .cancelled, nil, nil),
            (TransportFailure(code: .notConnectedToInternet, phase: .beforeSend), .noConnection, nil, .beforeSend),
            // The same errno after bytes were sent is a lost connection.
            (
                TransportFailure(code: .notConnectedToInternet, phase: .maybeSent), .transport, .networkConnectionLost,
                .maybeSent
            ),
            (
                TransportFailure(code: .dataNotAllowed, phase: .responseStarted), .transport, .networkConnectionLost,
                .responseStarted
            ),
            // With a connect timeout, nothing was sent.
            (TransportFailure(code: .timedOut, phase: .beforeSend), .transport, .cannotConnectToHost, .beforeSend),
            (TransportFailure(code: .timedOut, phase: .maybeSent), .transport, .timedOut, .maybeSent),
            (
                TransportFailure(code: .networkConnectionLost, phase: .beforeSend), .transport, .networkConnectionLost,
                .beforeSend
            ),
            (
                TransportFailure(code: .secureConnectionFailed, phase: .beforeSend, underlying: Other()), .transport,
                .secureConnectionFailed, .beforeSend
            ),
        ] as [(any Error, PulseError.Kind, URLError.Code?, PulseError.Phase?)])
    func eachErrorIsWrappedInItsCase(
        error: any Error, kind: PulseError.Kind, code: URLError.Code?, phase: PulseError.Phase?
    ) {
        let wrapped = PulseError(wrapping: error)
        #expect(wrapped.kind == kind)
        #expect(wrapped.phase == phase)
        guard case .transport(let found, let underlying) = wrapped else {
            #expect(code == nil)
            return
        }
        #expect(found == code)
        #expect(type(of: underlying) == type(of: error), "the cause is kept")
    }

    @Test
    func aTimeoutNamesItsRequest() throws {
        let request = try request(.post, "https://api.example.com/slow")
        let failure = TransportFailure(code: .timedOut, phase: .maybeSent)
        for error in [failure, URLError(.timedOut)] as [any Error] {
            guard case .timeout(let named) = PulseError(wrapping: error, request: request) else {
                Issue.record("no timeout of \(error)")
                continue
            }
            #expect(named.url == request.url)
            #expect(named.httpMethod == "POST")
        }
        let bare = URLError(.timedOut, userInfo: [NSURLErrorFailingURLErrorKey: try url("https://h/x")])
        guard case .timeout(let named) = PulseError(wrapping: bare) else {
            Issue.record("no timeout")
            return
        }
        #expect(named.url?.absoluteString == "https://h/x")
        #expect(
            PulseError(wrapping: TransportFailure(code: .timedOut, phase: .beforeSend), request: request).kind
                == .transport)
    }

    @Test func anUnreadableBodyHasTheStatusAndIsNotRetried() throws {
        let url = try #require(URL(string: "https://a.test/b?token=secret"))
        var failure = TransportFailure(code: .cannotDecodeContentData, phase: .responseStarted)
        failure.response = PulseResponse(
            statusCode: 503, headers: ["Retry-After": "5"], request: URLRequest(url: url))
        let error = PulseError(wrapping: failure)
        #expect(error.kind == .transport)
        #expect(error.statusCode == 503)
        #expect(error.response?.headers["Retry-After"] == "5")
        #expect(error.phase == .responseStarted)
        #expect(!error.isRetryable)
        #expect(!RetryPolicy(retryableStatusCodes: Set(400..<600)).counts(error))
        #expect(failure.description == "cannotDecodeContentData, responseStarted, status 503")
        #expect(!"\(error)".contains("secret"))
    }

    @Test
    func aForeignErrorIsWrapped() {
        guard case .custom(let error) = PulseError(wrapping: Other()) else {
            Issue.record("not custom")
            return
        }
        #expect(error is Other)
    }
}
