// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// Compares the policy with the reference, for random requests, stored responses and new responses, with valid, unusual
/// and broken headers.
@Suite(.tags(.schedule), .throttled)
struct CachePolicyScheduleTests {
    /// 20,000 in `swift test`, a million where `PULSE_STEPS` is 100,000.
    private static let steps =
        ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init).map { $0 * 10 } ?? 20_000

    @Test @HeavyWork func decisionsMatchTheReferenceForRandomResponsesAndMutatedHeaders() async {
        let seed: UInt64 = 9111
        var random = RandomMessages(seed: seed)
        var decisions: [String: Int] = [:]
        for step in 0..<Self.steps {
            // Yields the thread to other tests.
            if step % 20 == 0 { await Task.yield() }
            let now = random.time()
            let (method, headers) = random.request()
            // Only a HEAD that is sent although the stored response is fresh can make that stale.
            let mode = method == .head && random.chance(2) ? .reload : random.mode()
            let stored = random.stored(for: method, headers)
            let judges = random.chance(2)
            let reference = ReferencePolicy(
                method: method, request: headers, mode: mode, stored: stored, judgesConditions: judges)
            let request = CachedRequest(method: method, headers: headers)
            let policy = judges ? CachePolicy.rfc9111.respondingToConditionalRequests() : .rfc9111

            let strategy =
                policy.canServe(request)
                ? CacheStrategy(for: request, mode: mode, stored: stored, by: policy, now: now) : nil
            let expected = reference.strategy(now: now)
            if strategy != expected {
                Issue.record(
                    """
                    seed \(seed), step \(step): \(String(describing: strategy)) for \(String(describing: expected)), \
                    \(method) \(headers) \(mode) \(stored) \(now)
                    """)
                return
            }
            decisions[strategy?.name ?? "bypass", default: 0] += 1
            if let index = strategy?.usedIndex {
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
                decisions[form?.name ?? "nothing", default: 0] += 1
            }
            guard strategy == .fetch || strategy?.conditions != nil else { continue }
            let conditions = strategy?.conditions
            if conditions?.rest != nil { decisions["rest", default: 0] += 1 }

            let response = random.response(about: stored, conditions, isRange: request.range != .whole)
            let update = CacheUpdate(
                after: response, to: request, mode: mode, stored: stored, conditions: conditions, by: policy)
            let expectedUpdate = reference.update(after: response, conditions: conditions)
            if update != expectedUpdate {
                Issue.record(
                    """
                    seed \(seed), step \(step): \(update) for \(expectedUpdate), \(method) \(headers) \(mode) \
                    \(stored) with response \(response)
                    """)
                return
            }
            decisions[update.name, default: 0] += 1
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
            "bypass", "use", "useAndRevalidate", "validate", "fetch", "gatewayTimeout", "cacheMiss", "nothing", "store",
            "confirm", "reuse", "serveStale", "remove", "outdate", "refetch", "complete", "storePart", "rest", "whole",
            "part", "unsatisfiable", "notModified",
        ] {
            #expect(decisions[name, default: 0] > Self.steps / 4_000, "\(name) in \(decisions)")
        }
    }
}

extension CacheStrategy {
    fileprivate var name: String {
        switch self {
        case .use: "use"
        case .useAndRevalidate: "useAndRevalidate"
        case .validate: "validate"
        case .fetch: "fetch"
        case .fail(.gatewayTimeout): "gatewayTimeout"
        case .fail(.cacheMiss): "cacheMiss"
        }
    }

    fileprivate var usedIndex: Int? {
        switch self {
        case .use(let index, _), .useAndRevalidate(let index, _): index
        case .validate, .fetch, .fail: nil
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

extension CacheUpdate {
    fileprivate var name: String {
        switch self {
        case .nothing: "nothing"
        case .store(let head): head.parts == nil ? "store" : "storePart"
        case .complete: "complete"
        case .confirm: "confirm"
        case .outdate: "outdate"
        case .reuse: "reuse"
        case .serveStale: "serveStale"
        case .remove: "remove"
        case .refetch: "refetch"
        }
    }
}
