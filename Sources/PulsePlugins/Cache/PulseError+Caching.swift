// SPDX-License-Identifier: MIT

import PulseCore

extension PulseError {
    /// Whether the server may have received the failed request.
    var mayHaveArrived: Bool {
        switch self {
        case .cancelled, .responseTooLarge: true
        case .retryExhausted(let last, _): last.mayHaveArrived
        case .deadlineExceeded(let last): last?.mayHaveArrived ?? true
        default: phase == .maybeSent || phase == .responseStarted
        }
    }

    /// Whether there was no connection at all.
    var meansNoConnection: Bool {
        switch self {
        case .noConnection: true
        case .retryExhausted(let last, _): last.meansNoConnection
        default: false
        }
    }

    /// Whether a gateway would report the error as a 500, 502, 503 or 504 (RFC 5861, section 4). False if the request,
    /// the response or the server's identity is at fault.
    var meansServerUnavailable: Bool {
        switch self {
        case .noConnection, .timeout, .circuitOpen: true
        case .http(let response): CachePolicy.isServerFailure(response.statusCode)
        case .retryExhausted(let last, _): last.meansServerUnavailable
        case .transport(let code, _):
            switch code {
            case .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed, .cannotFindHost, .timedOut,
                .notConnectedToInternet, .badServerResponse:
                true
            default: false
            }
        default: false
        }
    }
}
