// SPDX-License-Identifier: MIT

import PulseCore

extension CircuitBreaker.Verdict {
    /// What an outcome says of the host: connect errors, timeouts and the statuses 500, 502, 503 and 504 are failures,
    /// any other answer is a success. A 429, a missing connection, a cancellation, the failure of a recovery further
    /// in, which may be another host's, and whatever did not come from the wire say nothing.
    ///
    /// - Parameter departed: how often the call had left for the wire before.
    /// - Parameter slow: seconds after which a success is slow.
    init(
        _ result: Result<PulseResponse, PulseError>, in context: PluginContext, sentBefore: Int, latency: TimeInterval,
        slow: TimeInterval?
    ) {
        switch result {
        case .success(let response):
            switch response.origin {
            case .network, .revalidated, .mock: self.init(response, in: context, latency: latency, slow: slow)
            case .cache, .stale, .coalesced: self = .ignored
            }
        case .failure where context.call.isFailureOfOtherWork:
            self = .ignored
        case .failure(let error):
            self.init(error, hasLeft: context.call.sentCount > sentBefore, now: context.clock.now)
        }
    }

    private init(_ response: PulseResponse, in context: PluginContext, latency: TimeInterval, slow: TimeInterval?) {
        let status = response.statusCode
        // A status that the call expects is no sign of trouble.
        let isExpected = { (context.options.acceptedStatuses ?? .successful).contains(status) }
        if status == 429, !isExpected() {
            self = .ignored
        } else if Self.isFailure(status), !isExpected() {
            self = .failure(retryAfter: Self.retryAfter(of: response, now: context.clock.now))
        } else {
            self = .success(isSlow: slow.map { latency >= $0 } ?? false)
        }
    }

    private init(_ error: PulseError, hasLeft: Bool, now: Date) {
        switch error {
        case .timeout:
            self = .failure(retryAfter: nil)
        // A deadline that strikes means that the host is too slow, unless the request still waits on this side.
        case .deadlineExceeded:
            self = hasLeft ? .failure(retryAfter: nil) : .ignored
        // The connection was at fault, and the host may be well: the request that follows over another one tells.
        case .transport where error.isStaleConnection:
            self = .ignored
        case .transport(let code, _):
            self = Self.isFailure(code) ? .failure(retryAfter: nil) : .ignored
        // What a plugin further in made of an answer.
        case .http(let response):
            self =
                Self.isFailure(response.statusCode)
                ? .failure(retryAfter: Self.retryAfter(of: response, now: now)) : .success(isSlow: false)
        // A call without the credential that it requires never leaves.
        case .unauthorized(nil) where !hasLeft:
            self = .ignored
        case .unauthorized, .decodingFailed, .emptyBody, .graphQL:
            self = .success(isSlow: false)
        // A validator's verdict on an answer, such as an error inside a 200. A failure of the wire has another error,
        // and what failed before the wire says nothing of the host.
        case .custom where hasLeft:
            self = .success(isSlow: false)
        case .retryExhausted(let last, _):
            self.init(last, hasLeft: hasLeft, now: now)
        default:
            self = .ignored
        }
    }

    /// The reset of a rate limit is none: it says nothing of when the host is well again.
    private static func retryAfter(of response: PulseResponse, now: Date) -> TimeInterval? {
        response.headers.contains("Retry-After") ? RetryAfter.seconds(in: response.headers, now: now) : nil
    }

    private static func isFailure(_ status: Int) -> Bool {
        switch status {
        case 500, 502, 503, 504: true
        default: false
        }
    }

    /// The host was not reached, or was lost. A certificate that is not trusted is not a question of load.
    private static func isFailure(_ code: URLError.Code) -> Bool {
        switch code {
        case .timedOut, .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .networkConnectionLost,
            .secureConnectionFailed:
            true
        default:
            false
        }
    }
}
