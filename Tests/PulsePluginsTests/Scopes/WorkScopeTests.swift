// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct WorkScopeTests {
    private final class Owner: Sendable {
        private let whenGone: @Sendable () -> Void

        init(whenGone: @escaping @Sendable () -> Void = {}) {
            self.whenGone = whenGone
        }

        deinit { whenGone() }
    }

    @Test func codeIsWithinAllEnclosingOpenWorkOnly() async {
        let (outer, inner, other) = (Owner(), Owner(), Owner())
        await WorkScope.run(outer) {
            #expect(!WorkScope.isWithin(inner))
            await WorkScope.run(inner) {
                #expect(WorkScope.isWithin(outer) && WorkScope.isWithin(inner) && !WorkScope.isWithin(other))
                #expect(WorkScope.isWithin(any: Owner.self))
                #expect(!WorkScope.isWithin(any: Recoverer.self))
            }
            #expect(WorkScope.isWithin(outer) && !WorkScope.isWithin(inner))
        }
        #expect(!WorkScope.isWithin(any: Owner.self))
    }

    @Test func aTaskThatOutlivesWorkIsNoLongerPartOfIt() async {
        func isUnderWay(after gate: Gate) -> Task<Bool, Never> {
            Task {
                await gate.pass()
                return CurrentWork.isUnderWay
            }
        }
        let (hasInnerEnded, hasEnded) = (Gate(), Gate())
        let left = await WorkScope.run(Owner()) { () -> Task<Bool, Never> in
            let inner = await WorkScope.run(Owner()) { isUnderWay(after: hasInnerEnded) }
            hasInnerEnded.open()
            // The outer work goes on.
            #expect(await inner.value)
            return isUnderWay(after: hasEnded)
        }
        hasEnded.open()
        #expect(await !left.value)
        #expect(!CurrentWork.isUnderWay)
    }

    /// As where each recovery starts the task of the next one.
    @Test func aChainOfTasksRetainsNoEndedWork() async {
        let isGone = Locked(false)
        let (hasEnded, over) = (Gate(), Gate())
        let next = await WorkScope.run(Owner { isGone.withLock { $0 = true } }) {
            Task {
                await hasEnded.pass()
                let isWithin = WorkScope.isWithin(any: Owner.self)
                return (isWithin, await WorkScope.run(Owner()) { Task { await over.pass() } })
            }
        }
        hasEnded.open()
        let (isWithin, last) = await next.value
        #expect(!isWithin)
        // A task of the second work is alive, and retains nothing of the first.
        #expect(isGone.withLock { $0 })
        over.open()
        await last.value
    }
}
