// SPDX-License-Identifier: MIT

import Foundation
import PulseCore
public import Testing

/// Limits how many tests of a process run at once, and the time of each.
///
/// The test runner starts all tests at once. Thousands of tasks then wait for a thread, and a client of one test waits for
/// the server in its own process for longer than its timeout. The time limit does not include the wait for a turn, unlike
/// that of the library `Testing`.
public struct Throttle: SuiteTrait, TestTrait {
    // Many, since most tests wait: for a server, or for the thread of `HeavyWork`.
    private static let turns = Turns(count: 16 * ProcessInfo.processInfo.activeProcessorCount)

    // The longest schedule takes some minutes in release, and a sanitizer makes a test ten times slower.
    private static let minutes: UInt64 = 20

    public let isRecursive = true
}

#if compiler(>=6.1)  // Swift 6.0 runs all tests at once, without a limit.
extension Throttle: TestScoping {
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // Serialized tests come first. Each of their cases would otherwise wait until all other tests have run.
        await Self.turns.take(isFirst: test.traits.contains { $0 is ParallelizationTrait })
        defer { Self.turns.giveBack() }
        try await withoutActuallyEscaping(function) { function in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await function() }
                group.addTask {
                    try await Task.sleep(nanoseconds: Self.minutes * 60_000_000_000)
                    Issue.record("The test has not ended after \(Self.minutes) minutes.")
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }
}
#endif

extension Trait where Self == Throttle {
    /// The tests wait for their turn, so that few run at once, and end after 20 minutes. All suites have this trait.
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
