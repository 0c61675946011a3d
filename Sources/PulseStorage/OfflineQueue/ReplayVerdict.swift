// SPDX-License-Identifier: MIT

import PulseCore

/// The meaning of a replay's outcome for its entry.
package enum ReplayVerdict: Sendable, Equatable {
    /// The server has accepted it.
    case done(status: Int)
    /// The request will never be accepted as it is.
    case rejected
    /// The request may be accepted later: at the earliest after that many seconds, which bind only if the server asks
    /// for them. Only a verdict of the server counts as an attempt.
    case unavailable(isVerdict: Bool, retryAfter: TimeInterval)
    /// Nothing of the request could be sent as things are: a setting or a token may be wrong, and put right later. It
    /// counts as an attempt, so that a request that can never be sent does not hold up those behind it for ever.
    case unsendable
    /// There is no connection, for any entry.
    case offline
    /// Somebody else is logged in.
    case otherAccount
    /// The client ended the replay.
    case stopped

    /// - Parameter isAnswered: a server has answered the replay, whatever plugins made of the answer.
    /// - Parameter now: by the client's clock.
    package init(_ result: Result<PulseResponse, PulseError>, isAnswered: Bool = false, now: Date) {
        switch result {
        case .success(let response): self = .done(status: response.statusCode)
        case .failure(let error): self.init(error, isAnswered, now)
        }
    }

    private init(_ error: PulseError, _ isAnswered: Bool, _ now: Date) {
        switch error {
        case .noConnection: self = .offline
        case .cancelled: self = .stopped
        case .retryExhausted(let last, _): self.init(last, isAnswered, now)
        case .deadlineExceeded(let last?): self.init(last, isAnswered, now)
        case .http(let response): self.init(status: response.statusCode, retryAfter: error.retryAfter(now: now))
        // Without an answer it is the plugin's: there is no token to send it with.
        case .unauthorized(let response): self = .unavailable(isVerdict: response != nil, retryAfter: 0)
        case .rateLimited(let seconds): self = .unavailable(isVerdict: true, retryAfter: seconds ?? 0)
        case .transport(_, let underlying as PulseError): self.init(underlying, isAnswered, now)
        case .circuitOpen(_, let seconds): self = .unavailable(isVerdict: false, retryAfter: seconds)
        // Of a request that was sent: what cannot be built after that is of the server's making, as a redirect is. One
        // whose answer is too large was answered by the server.
        case .invalidURL, .invalidRequest, .encodingFailed, .unsupported, .responseTooLarge, .cacheMiss:
            self = .rejected
        // The last try was lost, or nobody is logged in any more: no verdict, though an earlier try was answered.
        case .timeout, .transport, .sslPinningFailed, .proxyRefused, .deadlineExceeded, .sessionExpired:
            self = .unavailable(isVerdict: false, retryAfter: 0)
        // A plugin's judgement of an answer, such as a validator's of an error inside a 200, is a verdict: otherwise
        // the entry would hold up those behind it until it expires.
        default: self = .unavailable(isVerdict: isAnswered, retryAfter: 0)
        }
    }

    private init(status: Int, retryAfter: TimeInterval?) {
        self = Self.meansLater(status) ? .unavailable(isVerdict: true, retryAfter: retryAfter ?? 0) : .rejected
    }

    /// Whether the server may accept the request another time.
    static func meansLater(_ status: Int) -> Bool {
        switch status {
        case 401, 408, 425, 429, 500...: true
        default: false
        }
    }
}
