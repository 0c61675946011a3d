// SPDX-License-Identifier: MIT

import Foundation
import PulseCore
public import Testing

/// Limits how many tests of a process run at once.
///
/// The test runner starts all tests at once. Thousands of tasks then wait for a thread, and a client of one test waits for
/// the server in its own process for longer than its timeout. The time limit of a test includes its wait: it must be
/// longer than the whole run takes on a slow machine.
public struct Throttle: SuiteTrait, TestTrait {
    // Many, since most tests wait: for a server, or for the thread of `HeavyWork`.
    private static let turns = Turns(count: 16 * ProcessInfo.processInfo.activeProcessorCount)

    public let isRecursive = true
}

#if compiler(>=6.1)  // Swift 6.0 runs all tests at once.
extension Throttle: TestScoping {
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // Serialized tests come first. Each of their cases would otherwise wait until all other tests have run.
        await Self.turns.take(isFirst: test.traits.contains { $0 is ParallelizationTrait })
        defer { Self.turns.giveBack() }
        try await function()
    }
}
#endif

extension Trait where Self == Throttle {
    /// The tests wait for their turn, so that few run at once. All suites have this trait.
    public static var throttled: Self { Throttle() }
}

/// A semaphore whose waiting tasks are resumed in the order in which they came, after those that come first.
private final class Turns: Sendable {
    private struct State {
        var free: Int
        var first: [CheckedContinuation<Void, Never>] = []
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Locked<State>

    init(count: Int) { state = Locked(State(free: count)) }

    func take(isFirst: Bool) async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    if isFirst { state.first.append(continuation) } else { state.waiting.append(continuation) }
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    func giveBack() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if !state.first.isEmpty { return state.first.removeFirst() }
            if !state.waiting.isEmpty { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}
