// SPDX-License-Identifier: MIT

import PulseCore

extension CircuitBreaker.Verdict {
    /// Classifies an outcome as a failure or success of the host. Connect errors, timeouts and the statuses 500, 502,
    /// 503 and 504 are failures; any other response is a success. A 429, a missing connection, a cancellation and every
    /// outcome that did not come from the network are ignored. So is the failure of an inner recovery, which may use
    /// another host.
    ///
    /// - Parameter sentBefore: how many requests the call had sent before.
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
        case .failure where context.call.failsForOtherWork:
            self = .ignored
        case .failure(let error):
            self.init(error, hasLeft: context.call.sentCount > sentBefore, now: context.clock.now)
        }
    }

    private init(_ response: PulseResponse, in context: PluginContext, latency: TimeInterval, slow: TimeInterval?) {
        let status = response.statusCode
        // A status that the call expects is not a failure.
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
        // A passed deadline means that the host is too slow, unless the request was not sent yet.
        case .deadlineExceeded:
            self = hasLeft ? .failure(retryAfter: nil) : .ignored
        // The connection was at fault, not the host. The resend on another connection decides.
        case .transport where error.isStaleConnection:
            self = .ignored
        // The request never left this process.
        case .transport where error.isPoolTimeout:
            self = .ignored
        case .transport(let code, _):
            self = Self.isFailure(code) ? .failure(retryAfter: nil) : .ignored
        // An inner plugin has turned a response into an error.
        case .http(let response):
            self =
                Self.isFailure(response.statusCode)
                ? .failure(retryAfter: Self.retryAfter(of: response, now: now)) : .success(isSlow: false)
        // A call without its required credential is never sent.
        case .unauthorized(nil) where !hasLeft:
            self = .ignored
        case .unauthorized, .decodingFailed, .emptyBody, .graphQL:
            self = .success(isSlow: false)
        // A validator's verdict on a response, such as an error inside a 200. Network failures have other errors, and a
        // failure before the send is not the host's.
        case .custom where hasLeft:
            self = .success(isSlow: false)
        case .retryExhausted(let last, _):
            self.init(last, hasLeft: hasLeft, now: now)
        default:
            self = .ignored
        }
    }

    /// The reset time of a rate limit is ignored: it does not say when the host recovers.
    private static func retryAfter(of response: PulseResponse, now: Date) -> TimeInterval? {
        response.headers.contains("Retry-After") ? RetryAfter.seconds(in: response.headers, now: now) : nil
    }

    private static func isFailure(_ status: Int) -> Bool {
        switch status {
        case 500, 502, 503, 504: true
        default: false
        }
    }

    /// Whether the host was not reached, or the connection was lost. An untrusted certificate does not mean overload.
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
