// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// Compares the policy with the reference, for random requests, stored responses and new responses, with valid, unusual
/// and broken headers.
@Suite(.tags(.schedule), .throttled, .timeLimit(.minutes(10)))
struct CachePolicyScheduleTests {
    /// 20,000 in `swift test`, a million where `PULSE_STEPS` is 100,000.
    private static let steps =
        ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init).map { $0 * 10 } ?? 20_000

    @Test @HeavyWork func decisionsMatchTheReferenceForRandomResponsesAndMutatedHeaders() async {
        let seed: UInt64 = 9111
        var random = RandomMessages(seed: seed)
        var plans: [String: Int] = [:]
        for step in 0..<Self.steps {
            // Yields the thread to other tests.
            if step % 20 == 0 { await Task.yield() }
            let now = random.time()
            let (method, headers) = random.request()
            let mode = random.mode()
            let stored = random.stored(for: method, headers)
            let judges = random.chance(2)
            let reference = ReferencePolicy(
                method: method, request: headers, mode: mode, stored: stored, judgesConditions: judges)
            let request = CachedRequest(method: method, headers: headers)
            let policy = judges ? CachePolicy.rfc9111.respondingToConditionalRequests() : .rfc9111

            let plan = policy.plan(for: request, mode: mode, stored: stored, now: now)
            let expected = reference.plan(now: now)
            if plan != expected {
                Issue.record(
                    "seed \(seed), step \(step): \(plan) for \(expected), \(method) \(headers) \(mode) \(stored) \(now)"
                )
                return
            }
            plans[plan.name, default: 0] += 1
            if case .serve(let index, _) = plan {
                let length = random.pick([0, 1, 10])
                let form = request.form(of: stored[index], bodyLength: length)
                let expected = reference.form(of: stored[index], bodyLength: length)
                if form != expected {
                    Issue.record(
                        """
                        seed \(seed), step \(step): \(String(describing: form)) for \(String(describing: expected)), \
                        \(headers) \(stored[index]) \(length)
                        """)
                    return
                }
                plans[form?.name ?? "nothing", default: 0] += 1
            }
            guard case .forward(let conditions) = plan else { continue }
            if conditions?.rest != nil { plans["rest", default: 0] += 1 }

            let response = random.response(about: stored, conditions, isRange: request.range != .whole)
            let verdict = policy.verdict(
                on: response, to: request, mode: mode, stored: stored, conditions: conditions)
            let expectedVerdict = reference.verdict(on: response, conditions: conditions)
            if verdict != expectedVerdict {
                Issue.record(
                    """
                    seed \(seed), step \(step): \(verdict) for \(expectedVerdict), \(method) \(headers) \(mode) \
                    \(stored) with response \(response)
                    """)
                return
            }
            plans[verdict.name, default: 0] += 1
            let isDisconnected = random.chance(2)
            let use = policy.select(from: stored, for: request).flatMap {
                !request.canBeServed(by: stored[$0])
                    ? nil
                    : policy.useAfterFailure(of: stored[$0], request, mode, isDisconnected: isDisconnected, now: now)
            }
            let expectedUse = reference.useAfterFailure(isDisconnected: isDisconnected, now: now)
            if use != expectedUse {
                Issue.record("seed \(seed), step \(step): \(String(describing: use)) after a failure")
                return
            }
        }
        // A generator that never reaches a branch would compare nothing.
        for name in [
            "bypass", "serve", "forward", "gatewayTimeout", "cacheMiss", "pass", "store", "confirm", "reuse",
            "serveStale", "replace", "outdate", "refetch", "complete", "storePart", "rest", "whole", "part",
            "unsatisfiable",
            "notModified",
        ] {
            #expect(plans[name, default: 0] > Self.steps / 4_000, "\(name) in \(plans)")
        }
    }
}

extension CachePlan {
    fileprivate var name: String {
        switch self {
        case .bypass: "bypass"
        case .serve: "serve"
        case .forward: "forward"
        case .gatewayTimeout: "gatewayTimeout"
        case .cacheMiss: "cacheMiss"
        }
    }
}

extension CacheForm {
    fileprivate var name: String {
        switch self {
        case .whole: "whole"
        case .part: "part"
        case .unsatisfiable: "unsatisfiable"
        case .notModified: "notModified"
        }
    }
}

extension CacheVerdict {
    fileprivate var name: String {
        switch self {
        case .pass: "pass"
        case .store(let head): head.parts == nil ? "store" : "storePart"
        case .complete: "complete"
        case .confirm: "confirm"
        case .outdate: "outdate"
        case .reuse: "reuse"
        case .serveStale: "serveStale"
        case .replace: "replace"
        case .refetch: "refetch"
        }
    }
}
