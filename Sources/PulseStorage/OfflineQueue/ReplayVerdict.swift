// SPDX-License-Identifier: MIT

import PulseCore

/// The meaning of a replay's outcome for its entry.
package enum ReplayVerdict: Sendable, Equatable {
    /// The server has accepted the request.
    case done(status: Int)
    /// The request will never be accepted as it is.
    case rejected
    /// The server may accept the request later, no earlier than after `retryAfter` seconds. The delay is binding only
    /// if the server requested it. Only a verdict of the server counts as an attempt.
    case unavailable(isVerdict: Bool, retryAfter: TimeInterval)
    /// Nothing of the request could be sent. A setting or a token may be wrong, and may be fixed later. Counts as an
    /// attempt, so that a request that can never be sent does not block the entries behind it forever.
    case unsendable
    /// There is no connection, for any entry.
    case offline
    /// Another account is logged in.
    case otherAccount
    /// The client ended the replay.
    case stopped

    /// - Parameter status: of the last response to the replay, regardless of what plugins made of it; nil without one.
    /// - Parameter now: by the client's clock.
    package init(_ result: Result<PulseResponse, PulseError>, status: Int? = nil, now: Date) {
        switch result {
        case .success(let response): self = .done(status: response.statusCode)
        case .failure(let error): self.init(error, status, now)
        }
    }

    private init(_ error: PulseError, _ lastStatus: Int?, _ now: Date) {
        switch error {
        case .noConnection: self = .offline
        case .cancelled: self = .stopped
        case .retryExhausted(let last, _): self.init(last, lastStatus, now)
        case .deadlineExceeded(let last?): self.init(last, lastStatus, now)
        case .http(let response): self.init(refusal: response.statusCode, retryAfter: error.retryAfter(now: now))
        // Without a response, the error comes from a plugin: it has no token to send the request with.
        case .unauthorized(let response): self = .unavailable(isVerdict: response != nil, retryAfter: 0)
        case .rateLimited(let seconds): self = .unavailable(isVerdict: true, retryAfter: seconds ?? 0)
        case .transport(_, let underlying as PulseError): self.init(underlying, lastStatus, now)
        case .transport(_, let failure as TransportFailure) where failure.tellsVerdict:
            self.init(status: failure.response?.statusCode, retryAfter: error.retryAfter(now: now))
        case .responseTooLarge: self.init(status: lastStatus, retryAfter: nil)
        case .circuitOpen(_, let seconds): self = .unavailable(isVerdict: false, retryAfter: seconds)
        // For a request that was sent, the server causes these errors, such as a redirect that cannot be built.
        case .invalidURL, .invalidRequest, .encodingFailed, .unsupported, .cacheMiss: self = .rejected
        // The last attempt was lost, or the session is over: no verdict, even if an earlier attempt got a response.
        case .timeout, .transport, .sslPinningFailed, .proxyRefused, .deadlineExceeded, .sessionExpired:
            self = .unavailable(isVerdict: false, retryAfter: 0)
        // A plugin's judgment of a response is a verdict, such as a validator's of an error inside a 200. Otherwise the
        // entry would block the entries behind it until it expires.
        default: self = .unavailable(isVerdict: lastStatus != nil, retryAfter: 0)
        }
    }

    /// The status is the verdict, even if the body could not be read. A response without a status counts as an attempt:
    /// the next may be as unreadable, and would block the entries behind it.
    private init(status: Int?, retryAfter: TimeInterval?) {
        switch status {
        case let status? where 200..<300 ~= status: self = .done(status: status)
        case let status? where !(300..<400 ~= status): self.init(refusal: status, retryAfter: retryAfter)
        default: self = .unavailable(isVerdict: true, retryAfter: 0)
        }
    }

    private init(refusal status: Int, retryAfter: TimeInterval?) {
        self = Self.meansLater(status) ? .unavailable(isVerdict: true, retryAfter: retryAfter ?? 0) : .rejected
    }

    /// Whether the server may accept the request at a later time.
    static func meansLater(_ status: Int) -> Bool {
        switch status {
        case 401, 408, 425, 429, 500...: true
        default: false
        }
    }
}

extension TransportFailure {
    /// Whether the server responded, even if the response cannot be parsed.
    fileprivate var tellsVerdict: Bool {
        if response != nil { return true }
        let isUnreadable = [.badServerResponse, .cannotParseResponse, .cannotDecodeContentData].contains(code)
        return isUnreadable && phase != .beforeSend
    }
}
