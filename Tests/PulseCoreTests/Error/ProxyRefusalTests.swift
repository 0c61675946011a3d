// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct ProxyRefusalTests {
    @Test(
        arguments: [
            (
                PulseError.ProxyRefusal(proxy: "p.test:3128", reason: .status(407)),
                "the proxy p.test:3128 refused the connection: status 407"
            ),
            (
                PulseError.ProxyRefusal(proxy: "[::1]:1080", reason: .socksReply(2)),
                "the proxy [::1]:1080 refused the connection: SOCKS reply 2, not allowed by its rules"
            ),
            (
                PulseError.ProxyRefusal(proxy: "p.test:1", reason: .socksReply(77)),
                "the proxy p.test:1 refused the connection: SOCKS reply 77"
            ),
            (
                PulseError.ProxyRefusal(proxy: "p.test:1", reason: .socksCredentials),
                "the proxy p.test:1 refused the connection: it rejects the credentials"
            ),
            (PulseError.ProxyRefusal(proxy: nil, reason: .unknown), "the proxy refused the connection"),
        ])
    func theDescriptionNamesTheProxyAndTheReason(refusal: PulseError.ProxyRefusal, text: String) {
        #expect(PulseError.proxyRefused(refusal).description == text)
    }

    @Test(arguments: [403, 407, 408, 429, 500, 502, 503, 504])
    func aProxyRefusalIsNeverRetried(status: Int) {
        let error = PulseError.proxyRefused(PulseError.ProxyRefusal(proxy: "p.test:1", reason: .status(status)))
        #expect(error.statusCode == status)
        #expect(!error.isRetryable)
        #expect(!RetryPolicy(retryableStatusCodes: [status]).counts(error))
        #expect(error.phase == .beforeSend)
    }
}
