// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

/// A seeded random schedule of outcomes, methods and policies against a plain model; `PULSE_STEPS` sets its length.
@Suite(.tags(.schedule), .throttled)
struct RetryLoopStaleScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 2_000

    private enum Event: UInt64, CaseIterable {
        case success, failure, lost, stale, refused

        var outcome: ChainUnderTest.Outcome {
            switch self {
            case .success: .success(.sample())
            case .failure: .success(.sample(503))
            case .lost: .failure(TransportFailure(code: .networkConnectionLost, phase: .maybeSent))
            case .stale:
                .failure(TransportFailure(code: .networkConnectionLost, phase: .maybeSent, isStaleConnection: true))
            case .refused:
                .failure(TransportFailure(code: .networkConnectionLost, phase: .beforeSend, isStaleConnection: true))
            }
        }
    }

    /// Which of the sent requests follow a stale connection.
    private static func expectation(_ script: [Event], isRepeatable: Bool, attempts: Int) -> [Bool] {
        var (resends, counted, isResend, isUnsent) = ([Bool](), 1, false, true)
        for step in 0... {
            let event = script[min(step, script.count - 1)]
            resends.append(isResend)
            if event != .refused { isUnsent = false }
            guard event != .success, isRepeatable || isUnsent else { break }
            if event == .stale || event == .refused, attempts > 1, !isResend {
                isResend = true
                continue
            }
            guard counted < attempts else { break }
            counted += 1
            isResend = false
        }
        return resends
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    @HeavyWork func staleResendsAgreeWithAPlainModel(seed: UInt64) async throws {
        let random = SeededRandomness(seed: seed)
        let requests = [
            (try request(), true), (try request(.post), false),
            (try request(.post, headers: ["Idempotency-Key": "k"]), true),
        ]
        var (sent, seen) = (0, Set<[Bool]>())
        while sent < Self.steps {
            let (request, isRepeatable) = requests[Int(random.next() % 3)]
            let attempts = 1 + Int(random.next() % 4)
            let script = (0..<(1 + random.next() % 8)).compactMap { _ in Event(rawValue: random.next() % 5) }
            let chain = ChainUnderTest(script.map(\.outcome))
            let policy = RetryPolicy(maxAttempts: attempts, backoffStrategy: .immediate)
            let pipeline =
                random.next() % 2 == 0 ? chain.pipeline([RetryLoop(policy)]) : chain.pipeline(configured: policy)
            _ = await chain.run(request, through: pipeline)
            let resends = chain.sent.map(\.context.isResend)
            let expected = Self.expectation(script, isRepeatable: isRepeatable, attempts: attempts)
            #expect(resends == expected, "seed \(seed): \(script), \(attempts) attempts, \(isRepeatable)")
            sent += resends.count
            seen.insert(resends)
        }
        #expect(seen.count > 20, "the schedule is varied")
    }
}
