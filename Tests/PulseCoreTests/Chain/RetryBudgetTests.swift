// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct RetryBudgetTests {
    /// A budget in a box, so that expectations may change it.
    private final class Budget {
        var value: RetryBudget

        init(at now: TimeInterval) { value = RetryBudget(at: now) }

        func countCall(at now: TimeInterval) { value.countCall(at: now) }

        @discardableResult
        func takeRetry(at now: TimeInterval) -> Bool { value.takeRetry(at: now) }

        func takeRetries(_ count: Int, at now: TimeInterval) -> Int {
            (0..<count).count { _ in takeRetry(at: now) }
        }
    }

    @Test func thirtyRetriesInTenSecondsAreAlwaysAllowed() {
        let budget = Budget(at: 0)
        #expect(budget.takeRetries(100, at: 0.5) == 30)
        #expect(budget.takeRetries(100, at: 10.4) == 0)
        #expect(budget.takeRetries(100, at: 10.5) == 30)
    }

    @Test func theMinimumOfThirtyUsesASlidingWindow() {
        let budget = Budget(at: 0)
        for retry in 0..<30 { #expect(budget.takeRetry(at: TimeInterval(retry) / 10 + 0.05)) }
        for retry in 0..<30 {
            let free = TimeInterval(retry) / 10 + 10.05
            #expect(!budget.takeRetry(at: free - 0.001))
            #expect(budget.takeRetry(at: free))
        }
    }

    @Test func retriesAreLimitedToAFifthOfTheCalls() {
        let budget = Budget(at: 0)
        for _ in 0..<1000 { budget.countCall(at: 3) }
        #expect(budget.takeRetries(1000, at: 3) == 200)
        for _ in 0..<4 { budget.countCall(at: 5) }
        #expect(!budget.takeRetry(at: 5))
        budget.countCall(at: 5)
        #expect(budget.takeRetries(10, at: 5) == 1)
    }

    @Test func callsCountForTenSeconds() {
        let budget = Budget(at: 0)
        for _ in 0..<1000 { budget.countCall(at: 0) }
        #expect(budget.takeRetries(100, at: 9.9) == 100)
        #expect(budget.takeRetries(100, at: 10) == 0)
    }

    @Test func extremeTimesNeverTrap() {
        let budget = Budget(at: .nan)
        for now in [TimeInterval.nan, .infinity, -.infinity, 1e300, -1e300, 0] {
            budget.countCall(at: now)
            budget.takeRetry(at: now)
        }
        budget.value = RetryBudget(at: 5)
        for now in [TimeInterval.nan, -1e300, 1e18, 0, .infinity, 1] {
            budget.countCall(at: now)
            budget.takeRetry(at: now)
        }
    }

    @Test func hostsHaveSeparateBudgets() {
        let budgets = RetryBudgets()
        for host in ["a", "b"] {
            let granted = (0..<40).count { _ in budgets.takeRetry(of: host, at: 0) }
            #expect(granted == 30)
        }
    }

    @Test func theLeastRecentlyUsedHostsAreEvicted() {
        let budgets = RetryBudgets()
        for host in 0..<5000 {
            budgets.countCall(to: "host-\(host)", at: 0)
            #expect(budgets.takeRetry(of: "host-\(host)", at: 0))
        }
        #expect(budgets.count == RetryBudgets.capacity)
    }
}
