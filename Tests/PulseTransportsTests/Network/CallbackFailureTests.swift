// SPDX-License-Identifier: MIT

import Foundation
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct CallbackFailureTests {
    @Test(
        arguments: [
            (.posix(.ECONNREFUSED), .cannotConnectToHost, .networkConnectionLost),
            (.posix(.ENETUNREACH), .notConnectedToInternet, .networkConnectionLost),
            (.posix(.EHOSTUNREACH), .notConnectedToInternet, .networkConnectionLost),
            (.posix(.ENETDOWN), .notConnectedToInternet, .networkConnectionLost),
            (.posix(.EHOSTDOWN), .notConnectedToInternet, .networkConnectionLost),
            (.posix(.ETIMEDOUT), .timedOut, .networkConnectionLost),
            (.posix(.EMFILE), .resourceUnavailable, .networkConnectionLost),
            (.posix(.ENOBUFS), .resourceUnavailable, .networkConnectionLost),
            (.posix(.ECONNRESET), .cannotConnectToHost, .networkConnectionLost),
            (.dns(-65538), .cannotFindHost, .networkConnectionLost),
            (.dns(-65554), .cannotFindHost, .networkConnectionLost),
            (.dns(-65570), .notConnectedToInternet, .networkConnectionLost),
            (.dns(-65568), .dnsLookupFailed, .networkConnectionLost),
            (.tls(-9807), .serverCertificateUntrusted, .networkConnectionLost),
            (.tls(-9808), .serverCertificateUntrusted, .networkConnectionLost),
            (.tls(-9843), .serverCertificateUntrusted, .networkConnectionLost),
            (.tls(-9812), .serverCertificateHasUnknownRoot, .networkConnectionLost),
            (.tls(-9813), .serverCertificateHasUnknownRoot, .networkConnectionLost),
            (.tls(-9814), .serverCertificateHasBadDate, .networkConnectionLost),
            (.tls(-9815), .serverCertificateNotYetValid, .networkConnectionLost),
            (.tls(-9824), .secureConnectionFailed, .networkConnectionLost),
            (.tls(-9825), .clientCertificateRejected, .clientCertificateRejected),
            (.tls(-9829), .clientCertificateRejected, .clientCertificateRejected),
            (.tls(-9830), .secureConnectionFailed, .networkConnectionLost),
            (.tls(-9831), .clientCertificateRejected, .clientCertificateRejected),
            (.tls(-9832), .clientCertificateRejected, .clientCertificateRejected),
            (.tls(-9836), .secureConnectionFailed, .networkConnectionLost),
            (.unknown, .cannotConnectToHost, .networkConnectionLost),
        ] as [(CallbackFailure.Cause, URLError.Code, URLError.Code)])
    func theCauseDecidesTheCode(cause: CallbackFailure.Cause, before: URLError.Code, after: URLError.Code) {
        let failure = CallbackFailure(cause: cause, underlying: POSIXError(.EIO))
        #expect(failure.beforeReady.code == before && failure.beforeReady.phase == .beforeSend)
        #expect(failure.afterReady(.maybeSent).code == after && failure.afterReady(.maybeSent).phase == .maybeSent)
        #expect(failure.beforeReady.underlying is POSIXError && failure.afterReady(.maybeSent).underlying is POSIXError)
    }
}
