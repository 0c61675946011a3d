// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import TestSupport
import Testing

/// The checked continuation traps if a waiter is resumed twice.
@Suite(.tags(.threads), .throttled)
struct LockedSuspensionStressTests {
    fileprivate struct State {
        var value: [Int]?
        var waiter: CheckedContinuation<Void, Never>?
        var storeCount = 0
    }

    private let queue = DispatchQueue(label: "locked-suspension", attributes: .concurrent)

    /// The state changes shortly before, while or shortly after the task suspends. The thread sanitizer reports a value
    /// that does not pass the lock.
    @Test(arguments: [true, false]) func aChangeResumesTheTask(isCancellable: Bool) async {
        var seen = 0
        for round in 0..<2_000 {
            let state = Locked(State())
            queue.async { set([round], in: state) }
            for _ in 0..<(round % 300) { _ = [round] }
            await suspend(state, isCancellable: isCancellable)
            if state.withLock({ $0.value }) == [round] { seen += 1 }
        }
        #expect(seen == 2_000)
    }

    @Test func aCancellationResumesTheTask() async {
        for round in 0..<2_000 {
            let state = Locked(State())
            let task = Task { await suspend(state, isCancellable: true) }
            for _ in 0..<(round % 300) { _ = [round] }
            task.cancel()
            await task.value
            #expect(state.withLock { $0.waiter } == nil)
        }
    }

    @Test func aCancellationAndAChangeResumeTheTaskOnce() async {
        for round in 0..<2_000 {
            let state = Locked(State())
            let task = Task { await suspend(state, isCancellable: true) }
            queue.async { set([round], in: state) }
            queue.async { task.cancel() }
            await task.value
        }
    }

    @Test func aTaskThatIsAlreadyCancelledStoresNoWaiter() async {
        let state = Locked(State())
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await suspend(state, isCancellable: true)
        }.value
        #expect(state.withLock { $0.storeCount } == 0)
    }

    @Test func withoutAHandlerACancelledTaskWaits() async {
        let state = Locked(State())
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await suspend(state, isCancellable: false)
            return state.withLock { $0.value }
        }
        while state.withLock({ $0.waiter == nil }) { await Task.yield() }
        set([1], in: state)
        #expect(await task.value == [1])
    }

    @Test func aStateThatNeedsNoWaitStoresNoWaiter() async {
        let state = Locked(State(value: [1]))
        for isCancellable in [true, false] { await suspend(state, isCancellable: isCancellable) }
        #expect(state.withLock { $0.storeCount } == 0)
    }

    private func set(_ value: [Int], in state: Locked<State>) {
        let waiter = state.withLock { state in
            state.value = value
            return state.waiter.take()
        }
        waiter?.resume()
    }

    private func suspend(_ state: Locked<State>, isCancellable: Bool) async {
        guard isCancellable else { return await state.suspend(if: { $0.value == nil }) { $0.store($1) } }
        await state.suspend(if: { $0.value == nil }) {
            $0.store($1)
        } onCancel: {
            $0.waiter.take()
        }
    }
}

extension LockedSuspensionStressTests.State {
    fileprivate mutating func store(_ waiter: CheckedContinuation<Void, Never>) {
        self.waiter = waiter
        storeCount += 1
    }
}
