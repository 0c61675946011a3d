// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulseModels

/// What models request by themselves, as whole sequences of phases.
@MainActor
@Suite(.tags(.threads), .throttled)
struct RefetchTests {
    private let held = HeldRequests()
    private let late = LateRuns()
    private let clock = TestClock()

    private func page(_ rows: [Int], _ next: Int? = nil) -> String {
        #"{"rows":\#(rows)\#(next.map { #","next":\#($0)"# } ?? "")}"#
    }

    /// A list that has loaded its first page, `[1]`.
    private func list(_ policy: RefetchPolicy, by client: PulseClient) async -> PagedModel<GetRows> {
        let model = PagedModel(GetRows(), client: client, refetch: policy)
        model.fetch()
        await held.respond(0, page([1], 1))
        await eventually { model.phase.text == "loaded [1] more" }
        return model
    }

    // MARK: Sequences

    @Test func phasesOfAReconnect() async {
        let monitor = ManualConnectivityMonitor(.unsatisfied)
        let client = held.client(clock, connectivity: monitor)
        let model = await held.loaded(1, GetNumber(), RefetchPolicy(on: .reconnect), by: client)
        let phases = model.phases
        model.appear()
        await clock.advance(by: 0)
        monitor.set(.satisfied)
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 1)
        await held.respond(1, "", status: 500)
        await eventually { model.refreshError != nil }
        for path in [ConnectivityStatus.Path.unsatisfied, .satisfied] {
            await clock.advance(by: 0)
            monitor.set(path)
        }
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 1)
        await held.respond(2, "2")
        #expect(
            await texts(phases, 5, \.text) == [
                "success 1", "refreshing 1", "success 1", "refreshing 1", "success 2",
            ])
    }

    @Test func phasesOfAPeriod() async {
        let client = held.client(clock)
        let model = RequestModel(GetNumber(), client: client, refetch: RefetchPolicy(on: .appear, every: 30))
        let phases = model.phases
        model.appear()
        await held.respond(0, "", status: 500)
        for number in 1...2 {
            await eventually { !model.phase.isLoading }
            await clock.sleepers(atLeast: 1, for: .deadline)
            await clock.advance(by: 29)
            #expect(held.count == number)
            await clock.advance(by: 1)
            await held.respond(number, "\(number)")
        }
        #expect(
            await texts(phases, 7, \.text) == [
                "idle", "loading", "failure http", "loading", "success 1", "refreshing 1", "success 2",
            ])
    }

    @Test func phasesOfTheForegroundAndOfAnInvalidation() async {
        let client = held.client(clock)
        let policy = RefetchPolicy(staleAfter: 10, on: .foreground)
        let model = await held.loaded(1, GetNumber(), policy, by: client)
        let hidden = await held.loaded(2, GetNumber(id: 2), policy, by: client)
        let (phases, hiddenPhases) = (model.phases, hidden.phases)
        model.appear()
        client.requestTable.enterForeground()
        await clock.advance(by: 10)
        client.requestTable.enterForeground()
        await held.respond(2, "3")
        await eventually { model.phase.text == "success 3" }
        client.requestStore.invalidate(GetNumber.self)
        await held.respond(3, "4")
        await eventually { model.phase.text == "success 4" }
        hidden.fetch()
        await held.respond(4, "5")
        #expect(
            await texts(phases, 5, \.text) == [
                "success 1", "refreshing 1", "success 3", "refreshing 3", "success 4",
            ])
        #expect(await texts(hiddenPhases, 3, \.text) == ["success 2", "refreshing 2", "success 5"])
    }

    @Test func phasesOfAPrefetch() async {
        let client = held.client(clock)
        let early = RequestModel(GetNumber(), client: client)
        let earlyPhases = early.phases
        async let prefetch: Void = client.requestStore.prefetch(GetNumber())
        await held.respond(0, "1")
        await prefetch
        let phases = RequestModel(GetNumber(), client: client, refetch: RefetchPolicy(staleAfter: 10)).phases
        #expect(await texts(phases, .max, \.text) == ["success 1"])
        #expect(await texts(earlyPhases, 3, \.text) == ["idle", "loading", "success 1"])
    }

    // MARK: Lists

    @Test func anInvalidatedListLoadsItsFirstPageAgain() async {
        let client = held.client(clock)
        let model = await list(.manual, by: client)
        let phases = model.phases
        model.loadMore()
        await held.respond(1, page([2], 2))
        await eventually { model.phase.text == "loaded [1, 2] more" }
        client.requestStore.invalidate(GetRows.self)
        model.appear()
        client.requestStore.invalidate(GetRows.self)
        await held.respond(2, page([5], 1))
        #expect(
            await texts(phases, 5, \.text) == [
                "loaded [1] more", "loadingMore [1]", "loaded [1, 2] more", "refreshing [1, 2]", "loaded [5] more",
            ])
        #expect(held.sent == ["a/0", "a/1", "a/0"])
    }

    @Test func aListWithSeveralPagesIsLeftAlone() async {
        let client = held.client(clock)
        let model = await list(RefetchPolicy(on: [.appear, .foreground], every: 30), by: client)
        let phases = model.phases
        model.appear()
        await held.respond(1, page([1], 1))
        await eventually { model.phase.text == "loaded [1] more" }
        model.loadMore()
        await held.sent(3)
        client.requestTable.enterForeground()
        await held.respond(2, page([2], 2))
        await eventually { model.phase.text == "loaded [1, 2] more" }
        client.requestTable.enterForeground()
        await clock.advance(by: 100)
        model.disappear()
        client.requestStore.invalidate(GetRows.self)
        #expect(model.phase.text == "loaded [1, 2] more")
        // An invalidated list is known to be wrong.
        model.appear()
        await held.respond(3, page([7], 1))
        await eventually { model.phase.text == "loaded [7] more" }
        // It has one page again.
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 30)
        await held.respond(4, page([8], 1))
        #expect(
            await texts(phases, 9, \.text) == [
                "loaded [1] more", "refreshing [1]", "loaded [1] more", "loadingMore [1]", "loaded [1, 2] more",
                "refreshing [1, 2]", "loaded [7] more", "refreshing [7]", "loaded [8] more",
            ])
    }

    @Test func aFetchDuringLoadMoreLoadsTheFirstPageAfterIt() async {
        let client = held.client(clock)
        let model = await list(RefetchPolicy(staleAfter: 10), by: client)
        let fresh = PagedModel(GetRows(), client: client, refetch: RefetchPolicy(staleAfter: .infinity))
        let phases = model.phases
        await clock.advance(by: 10)
        let more = model.loadMore()
        let tasks = [model.fetch(), fresh.fetch()]
        await held.respond(1, page([2], 2))
        #expect(await more.value.text == "loaded [1, 2] more")
        #expect(await tasks[1].value.text == "loaded [1, 2] more")
        await held.respond(2, page([5], 1))
        #expect(await tasks[0].value.text == "loaded [5] more")
        #expect(
            await texts(phases, 4, \.text) == [
                "loaded [1] more", "loadingMore [1]", "refreshing [1, 2]", "loaded [5] more",
            ])
        // A refresh is what the fetch wants, too, and a cancellation ends both.
        await clock.advance(by: 10)
        model.loadMore()
        await held.sent(4)
        let last = [model.fetch(), model.refresh()]
        await held.respond(4, page([6], 1))
        for task in last { #expect(await task.value.text == "loaded [6] more") }
        await clock.advance(by: 10)
        model.loadMore()
        await held.sent(6)
        model.fetch()
        model.cancel()
        #expect(model.phase.text == "loaded [6] more")
        await eventually { client.calls.count == 0 }
        let cancelled = [model.loadMore(), model.fetch()]
        await held.sent(7)
        // The client's cancellation counts as the model's.
        client.cancelAll()
        for task in cancelled { #expect(await task.value.text == "loaded [6] more") }
        await turns()
        #expect(!model.phase.isLoading)
    }

    @Test func anExhaustedListLoadsMoreOnlyIfItIsTold() async {
        let model = await list(.manual, by: held.client(clock))
        model.loadMoreIfNeeded()
        for number in 1...10 { await held.respond(number, page([], number + 1)) }
        await eventually { !model.phase.isLoading }
        model.loadMoreIfNeeded()
        #expect(model.phase.text == "loaded [1] more")
        model.loadMore()
        await held.respond(11, page([2], 12))
        await eventually { model.phase.text == "loaded [1, 2] more" }
        model.loadMoreIfNeeded()
        await held.respond(12, page([3]))
        await eventually { model.phase.text == "loaded [1, 2, 3]" }
        #expect(held.count == 13)
    }

    // MARK: Sleep and shutdown

    @Test func aModelThatIsOverdueAfterASleepIsRequestedInTheForeground() async {
        let client = held.client(clock)
        let model = await held.loaded(1, GetNumber(), RefetchPolicy(every: 100), by: client)
        model.appear()
        await clock.sleepers(atLeast: 1, for: .deadline)
        // The uptime stands still meanwhile.
        clock.shiftWallClock(by: 60)
        client.requestTable.enterForeground()
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 39)
        #expect(held.count == 1)
        await clock.advance(by: 1)
        await held.respond(1, "2")
        await eventually { model.phase.text == "success 2" }
        clock.shiftWallClock(by: 3_600)
        client.requestTable.enterForeground()
        await held.respond(2, "3")
        await eventually { model.phase.text == "success 3" }
    }

    @Test func aValueThatHasExpiredDuringASleepIsNotShown() async {
        let client = held.client(clock)
        for (id, retention) in [(1, 60.0), (2, 7_200)] {
            _ = await held.loaded(id, GetNumber(id: id), RefetchPolicy(retention: retention), by: client)
        }
        await turns()
        clock.shiftWallClock(by: 3_600)
        let models = (1...2).map { RequestModel(GetNumber(id: $0), client: client) }
        #expect(models.map(\.phase.text) == ["idle", "success 2"])
        // The longer retention has ended, too.
        models[0].fetch()
        await held.respond(2, "3")
        await eventually { models[0].phase.value == 3 }
        models[0].follow(GetNumber(id: 2))
        #expect(client.requestTable.count == 1)
    }

    @Test func aClientThatIsShutDownGetsNoAlarms() async {
        let monitor = ManualConnectivityMonitor(.unsatisfied)
        let client = held.client(clock, connectivity: monitor)
        let model = await held.loaded(1, GetNumber(), RefetchPolicy(on: .reconnect, every: 5), by: client)
        model.appear()
        await clock.sleepers(atLeast: 1, for: .deadline)
        await client.shutdown()
        await eventually { clock.sleeperCount(for: .deadline) == 0 }
        let count = clock.sleeps(for: .deadline).count
        #expect(await model.refresh().value.text == "success 1")
        model.disappear()
        model.appear()
        await clock.advance(by: 0)
        monitor.set(.satisfied)
        await clock.advance(by: 100)
        #expect(clock.sleeps(for: .deadline).count == count && held.count == 1)
    }

    // MARK: Screens and tasks

    @Test func aModelIsVisibleWhileOneOfItsScreensIs() async {
        let client = held.client(clock)
        let model = await held.loaded(1, GetNumber(), RefetchPolicy(on: .foreground), by: client)
        model.disappear()
        model.appear()
        model.appear()
        model.disappear()
        client.requestTable.enterForeground()
        await held.respond(1, "2")
        await eventually { model.phase.text == "success 2" }
        model.disappear()
        client.requestTable.enterForeground()
        #expect(model.phase.text == "success 2")
    }

    @Test func aRunKeepsTheTaskLocalsOfItsCaller() async {
        let client = held.client(clock)
        let core = late.core(1, client, RefetchPolicy(every: 5))
        core.appear()
        LateRuns.$caller.withValue("fetch") { _ = core.ask(.fetch) }
        await late.end(0, 1)
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 5)
        await late.end(1, 2)
        core.disappear()
        LateRuns.$caller.withValue("refresh") { _ = core.ask(.refresh) }
        await late.end(2, 3)
        #expect(late.tasks == ["fetch userInitiated", "none utility", "refresh userInitiated"])
    }

    @Test func aPrefetchHasALowPriority() async {
        let priorities = Locked<[TaskPriority]>([])
        let plugin = ClosurePlugin(identifier: "priorities", scope: .call) { request, _, next in
            priorities.withLock { $0.append(Task.currentPriority) }
            return try await next(request)
        }
        let client = held.client(clock, plugins: [plugin])
        async let prefetch: Void = client.requestStore.prefetch(GetNumber())
        await held.respond(0, "1")
        await prefetch
        let model = RequestModel(GetNumber(id: 2), client: client)
        model.fetch()
        await eventually { priorities.withLock { $0.count } == 2 }
        #expect(priorities.withLock { $0 } == [.utility, .userInitiated])
    }
}
