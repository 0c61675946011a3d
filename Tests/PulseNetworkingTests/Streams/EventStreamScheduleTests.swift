// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStreams

/// The state machine of event streams in a random schedule, against a model that knows the whole history; `PULSE_STEPS`
/// sets its length.
@Suite(.tags(.schedule), .throttled)
struct EventStreamScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000

    /// One connection, as the model knows it.
    private struct Connection {
        var openedAt: TimeInterval?
        var hasEvent = false
        var endedAt: TimeInterval = 0
        var error: PulseError?
        /// The wait after it, until the next one.
        var wait: TimeInterval?

        /// Whether no failure before its end counts any more.
        func forgetsFailures(_ policy: ReconnectPolicy) -> Bool {
            endsWell || openedAt.map { endedAt - $0 >= policy.resetsAfter } ?? false
        }
        var endsWell: Bool { error == nil && hasEvent }
    }

    private static let errors: [(error: PulseError, passes: Bool, passesOnceOpen: Bool)] = [
        (.noConnection, true, true),
        (.timeout(URLRequest(url: URL(fileURLWithPath: "/"))), true, true),
        (.transport(.networkConnectionLost, underlying: URLError(.networkConnectionLost)), true, true),
        (.transport(.cannotConnectToHost, underlying: URLError(.cannotConnectToHost)), true, true),
        (.transport(.cannotParseResponse, underlying: URLError(.cannotParseResponse)), false, false),
        (.transport(.serverCertificateUntrusted, underlying: URLError(.serverCertificateUntrusted)), false, false),
        (.rateLimited(retryAfter: 7), false, true),
        (.circuitOpen(name: "host", retryAfter: 20), true, true),
        (.circuitOpen(name: "host", retryAfter: .infinity), true, true),
        (.transport(.cannotDecodeContentData, underlying: URLError(.cannotDecodeContentData)), false, true),
        (.transport(.badServerResponse, underlying: URLError(.badServerResponse)), false, true),
        (.transport(.resourceUnavailable, underlying: URLError(.resourceUnavailable)), false, true),
        (.deadlineExceeded(last: nil), false, true),
        (.retryExhausted(last: .noConnection, attempts: 3), true, true),
        (.unauthorized(nil), false, false), (.sessionExpired, false, false), (.cancelled, false, false),
        (.responseTooLarge(limit: 1), false, false),
        (.http(response(503)), false, true), (.http(response(500)), false, false),
    ]

    private static func response(_ status: Int) -> PulseResponse {
        PulseResponse(statusCode: status, request: URLRequest(url: URL(fileURLWithPath: "/")))
    }

    /// WHATWG HTML, 9.2.3: the wait after a clean end is the reconnection time.
    @Test(arguments: [0, 0.5, 0.999_999])
    func aCleanEndIsFollowedByTheServersWait(unit: Double) {
        var machine = EventStream.StateMachine(.eventStream, EventStream.Options())
        _ = machine.start()
        _ = machine.opened(at: 0)
        machine.received(retry: 3000)
        machine.receivedEvent()
        guard case .wait(let seconds, after: nil) = machine.ended(nil, at: 1, unit: unit) else {
            Issue.record("no wait")
            return
        }
        #expect(3...3.6 ~= seconds)
    }

    /// A server that asked for connections at once may be overloaded later.
    @Test func theBackoffGrowsAfterARetryOfZero() {
        var machine = EventStream.StateMachine(.eventStream, EventStream.Options())
        _ = machine.start()
        _ = machine.opened(at: 0)
        machine.received(retry: 0)
        machine.receivedEvent()
        let waits = (0..<8).map { _ -> TimeInterval in
            guard case .wait(let seconds, _) = machine.ended(.noConnection, at: 1, unit: 0) else { return -1 }
            _ = machine.waited()
            return seconds
        }
        #expect(waits == [0.1, 1, 2, 4, 8, 15, 15, 15])
    }

    @Test func waitsAgreeWithAModelOfTheWholeHistory() {
        let random = SeededRandomness(seed: 25)
        func below(_ limit: UInt64) -> Int { Int(random.next() % limit) }
        var steps = 0
        while steps < Self.steps {
            let policy = ReconnectPolicy.eventStream
                .with(\.delay, value: [0, 0.01, 1, 3, 100][below(5)])
                .with(\.maxDelay, value: [0.05, 10, 30, .infinity][below(4)])
                .with(\.maxAttempts, value: [nil, nil, 0, 1, 5][below(5)])
                .with(\.maxServerDelay, value: [3600, 3600, 10, 0][below(4)])
                .with(\.resetsAfter, value: [60, 60, 10, 0][below(4)])
            let hasSentinel = below(2) == 0
            var machine = EventStream.StateMachine(
                policy, EventStream.Options().with(\.sentinel, value: hasSentinel ? "end" : nil))
            var history = [Connection()]
            var (now, retry): (TimeInterval, TimeInterval?) = (1_000, nil)
            var (reconnects, attempts) = (0, 1)
            guard case .connect(attempt: 1) = machine.start() else {
                Issue.record("no connection")
                return
            }
            while true {
                steps += 1
                now += [0.1, 10, 59, 61][below(4)]
                if history[history.count - 1].openedAt == nil, below(3) > 0 {
                    history[history.count - 1].openedAt = now
                    _ = machine.opened(at: now)
                    continue
                }
                if history[history.count - 1].openedAt != nil, below(2) == 0 {
                    if below(4) == 0 {
                        retry = [0, 0.02, 2, 500][below(4)]
                        machine.received(retry: Int((retry ?? 0) * 1000))
                    } else {
                        history[history.count - 1].hasEvent = true
                        (reconnects, attempts) = (0, 0)
                        machine.receivedEvent()
                    }
                    continue
                }
                let failure = below(3) == 0 && history[history.count - 1].openedAt != nil ? nil : Self.errors[below(17)]
                let (unit, retryAfter) = (random.unit(), failure?.error.retryAfter(now: Date()))
                history[history.count - 1].endedAt = now
                history[history.count - 1].error = failure?.error
                let action = machine.ended(failure?.error, at: now, retryAfter: retryAfter, unit: unit)
                let hasBeenOpen = history.contains { $0.openedAt != nil }
                let passes = failure.map { hasBeenOpen ? $0.passesOnceOpen : $0.passes } ?? true
                let text = "seed \(random.seed), step \(steps): \(action) after \(history)"
                if !passes || reconnects >= policy.maxAttempts ?? .max {
                    guard case .finish(let error) = action else {
                        Issue.record("\(text)")
                        return
                    }
                    if failure == nil {
                        #expect((error != nil) == hasSentinel, "\(text)")
                    } else {
                        #expect(error?.kind == failure?.error.kind, "\(text)")
                    }
                    break
                }
                guard case .wait(let seconds, _) = action else {
                    Issue.record("\(text)")
                    return
                }
                let asked = max(retry ?? 0, retryAfter.map { $0.isFinite ? $0 : 0 } ?? 0)
                #expect(machine.refusedWait == (asked > policy.maxServerDelay ? asked : nil), "\(text)")
                #expect(seconds == wait(after: history, policy, retry, retryAfter, unit), "\(text)")
                (reconnects, attempts) = (reconnects + 1, attempts + 1)
                guard case .connect(attempts) = machine.waited() else {
                    Issue.record("\(text)")
                    return
                }
                history.append(Connection())
            }
        }
    }

    private func wait(
        after history: [Connection], _ policy: ReconnectPolicy, _ retry: TimeInterval?,
        _ retryAfter: TimeInterval?, _ unit: Double
    ) -> TimeInterval {
        // Failures since the last good connection. A good one may fail itself, and then counts for later waits only.
        let start = history.lastIndex { $0.forgetsFailures(policy) }
        let later = start.map { history[$0..<(history.count - 1)].filter { !$0.endsWell }.count }
        let failures = start == history.count - 1 ? 0 : later ?? history.count - 1
        let limit = policy.maxServerDelay
        let delay = retry.map { min($0, limit) } ?? policy.delay
        var factor = 2.0
        for _ in 0..<failures { factor *= 2 }
        let base = failures == 0 ? delay : max(delay, 0.5)
        let computed =
            history.last?.endsWell == true
            ? min(policy.maxDelay, delay) * (1 + unit / 5)
            : min(policy.maxDelay, base * factor) * (0.5 + unit / 2)
        let asked = max(retry ?? 0, retryAfter.map { $0.isFinite ? $0 : 0 } ?? 0)
        return max(computed, min(asked, limit), 0.1)
    }
}
