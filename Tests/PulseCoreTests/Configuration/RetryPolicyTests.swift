// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct RetryPolicyTests {
    @Test
    func defaultsAreTheDocumentedOnes() {
        let policy = RetryPolicy()
        #expect(policy.maxAttempts == 3)
        #expect(policy.retryableStatusCodes == [408, 425, 429, 500, 502, 503, 504])
        #expect(policy.retryOnTimeout && policy.retryOnNoConnection)
        #expect(!policy.reportsExhaustion && !policy.retriesUnsafeMethods)
        #expect(policy.maxRetryAfter == 60)
        guard case .exponentialWithJitter(base: 0.25, maxDelay: 20) = policy.backoffStrategy else {
            Issue.record("not full jitter from 0.25 s up to 20 s")
            return
        }
        #expect(RetryPolicy.default.maxAttempts == 3)
        #expect(RetryPolicy.none.maxAttempts == 1)
        #expect(RetryPolicy.never.maxAttempts == 1)
    }

    @Test
    func theDescriptionShowsWhatDiffersFromTheDefault() {
        #expect(
            "\(RetryPolicy(maxAttempts: 2, backoffStrategy: .immediate, retryableStatusCodes: [503, 429]))"
                == "RetryPolicy(maxAttempts: 2, backoffStrategy: immediate, retryableStatusCodes: [429, 503])")
        var policy = RetryPolicy(
            maxAttempts: 1, backoffStrategy: .constant(2), retryableStatusCodes: [], retryOnTimeout: false,
            retryOnNoConnection: false)
        policy.reportsExhaustion = true
        policy.retriesUnsafeMethods = true
        policy.maxRetryAfter = 5
        #expect(
            "\(policy)"
                == "RetryPolicy(maxAttempts: 1, backoffStrategy: constant(2.0), retryableStatusCodes: [],"
                + " retryOnTimeout: false, retryOnNoConnection: false, reportsExhaustion: true,"
                + " retriesUnsafeMethods: true, maxRetryAfter: 5.0)")
    }

    @Test
    func onlyTransientStatusesAreRetryable() throws {
        let retryable: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
        for status in 100...599 {
            let response = PulseResponse(statusCode: status, request: try request())
            guard let error = PulseError(validating: response, accepted: .only()) else { continue }
            #expect(RetryPolicy.default.counts(error) == retryable.contains(status), "\(status)")
            #expect(error.isRetryable == retryable.contains(status), "\(status)")
        }
    }

    @Test(arguments: SampleErrors.all)
    func onlyTransientFailuresAreRetryable(sample: SampleErrors.Sample) {
        #expect(RetryPolicy.default.counts(sample.error) == sample.isRetryable)
        #expect(sample.error.isRetryable == sample.isRetryable)
    }

    @Test
    func theRetryableStatusesAreConfigurable() throws {
        let policy = RetryPolicy(retryableStatusCodes: [401, 418])
        for (status, counts) in [(401, true), (418, true), (429, false), (503, false)] {
            let response = PulseResponse(statusCode: status, request: try request())
            let error = try #require(PulseError(validating: response, accepted: .successful))
            #expect(policy.counts(error) == counts, "\(status)")
            #expect(policy.counts(.retryExhausted(last: error, attempts: 2)) == counts)
        }
    }

    @Test
    func retriesOnTimeoutAndNoConnectionCanBeDisabled() throws {
        let policy = RetryPolicy(retryOnTimeout: false, retryOnNoConnection: false)
        #expect(!policy.counts(.timeout(try request())))
        #expect(!policy.counts(.transport(.timedOut, underlying: URLError(.timedOut))))
        #expect(!policy.counts(.noConnection))
        #expect(policy.counts(.transport(.networkConnectionLost, underlying: URLError(.networkConnectionLost))))
        #expect(policy.counts(.transport(.cannotConnectToHost, underlying: URLError(.cannotConnectToHost))))
    }
}
