// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulseModels

@MainActor
@Suite(.tags(.threads), .throttled)
struct RequestStoreTests {
    private let held = HeldRequests()
    private let clock = TestClock()

    /// A model that has loaded that value.
    private func loaded(
        _ client: PulseClient, _ value: Int, _ endpoint: GetNumber = GetNumber(), _ policy: RefetchPolicy = .manual
    ) async -> RequestModel<GetNumber> {
        await held.loaded(value, endpoint, policy, by: client)
    }

    // MARK: Following

    @Test func followingDropsTheValueUnlessItIsKept() async {
        let client = held.client()
        let model = await loaded(client, 1)
        let phases = model.phases
        model.follow(GetNumber(id: 1))
        model.follow(GetNumber(id: 2))
        #expect(model.endpoint.id == 2 && client.requestTable.count == 1)
        model.fetch()
        await held.respond(1, "2")
        await eventually { model.phase.value == 2 }
        model.follow(GetNumber(id: 3), keepingValue: true)
        let failed = model.fetch()
        await held.respond(2, "", status: 500)
        #expect(await failed.value.text == "success 2")
        #expect(model.refreshError?.statusCode == 500 && model.response != nil)
        model.fetch()
        await held.respond(3, "3")
        await eventually { model.phase.text == "success 3" }
        #expect(
            await texts(phases, 8, \.text) == [
                "success 1", "idle", "loading", "success 2", "refreshing 2", "success 2", "refreshing 2",
                "success 3",
            ])
        let other = await loaded(client, 9, GetNumber(id: 9))
        model.follow(GetNumber(id: 9), keepingValue: true)
        #expect(model.phase.text == "success 9" && other.phase.text == "success 9")
    }

    @Test func aTaskOfTheRequestBeforeEndsAsTheModelLeaves() async {
        let model = RequestModel(GetNumber(), client: held.client())
        let task = model.fetch()
        await held.sent(1)
        model.follow(GetNumber(id: 2))
        #expect(await task.value.text == "idle")
        await eventually { held.cancelled == [0] }
    }

    @Test func anIdleModelThatFollowsTellsNothing() async {
        let model = RequestModel(GetNumber(), client: held.client())
        let phases = model.phases
        model.follow(GetNumber(id: 2))
        model.fetch()
        #expect(await texts(phases, 2, \.text) == ["idle", "loading"])
    }

    @Test func aRequestThatCannotBeComparedSendsItsNewBody() async {
        let client = held.client()
        let model = RequestModel(Search(text: "a"), client: client)
        let other = RequestModel(Search(text: "a"), client: client)
        model.follow(Search(text: "b"))
        model.fetch()
        await held.respond(0, "1")
        await eventually { model.phase.value == 1 }
        #expect(held.requests[0].httpBody == Data("b".utf8) && other.phase.text == "idle")
        await client.requestStore.prefetch(Search(text: "c"))
        #expect(held.count == 1)
    }

    @Test func equalRequestsHaveEqualKeys() {
        func key(_ endpoint: some Endpoint, _ owner: Int = 0) -> RequestKey { RequestKey(endpoint, owner: owner) }
        let get = GetUser()
        let others = [
            GetUser(path: "/users/2"), GetUser(method: .head), GetUser(headers: ["A": "b"]),
            GetUser(options: RequestOptions().with(\.headers, value: ["A": "c"])),
            GetUser(options: RequestOptions().with(\.auth, value: .anonymous)),
            GetUser(options: RequestOptions().with(\.cache, value: .reload)),
            GetUser(options: RequestOptions().with(\.acceptedStatuses, value: .any)),
        ]
        #expect(key(get, 1) == key(get, 2) && key(get).isShared)
        #expect(Set((others + [get]).map { key($0) }).count == others.count + 1)
        #expect(key(Search(text: "a"), 1) != key(Search(text: "a"), 2) && !key(Search(text: "a")).isShared)
        #expect(key(GetNumber(id: 1)) == key(GetNumber(id: 1)) && key(GetNumber(id: 1)) != key(GetNumber(id: 2)))
        #expect(key(GetRows()) != RequestKey(GetRows(), isPaged: true, owner: 0))
        #expect(key(get).isOf(GetUser.self) && !key(get).isOf(GetNumber.self))
    }

    // MARK: Triggers

    @Test func triggersRequestWhatIsVisibleAndStale() async {
        let client = held.client(clock)
        let policy = RefetchPolicy(staleAfter: 10, on: [.appear, .foreground])
        let model = RequestModel(GetNumber(), client: client, refetch: policy)
        let hidden = await loaded(client, 2, GetNumber(id: 2), policy)
        client.requestTable.enterForeground()
        model.appear()
        await held.respond(1, "1")
        await eventually { model.phase.value == 1 }
        model.disappear()
        model.appear()
        client.requestTable.enterForeground()
        await clock.advance(by: 10)
        model.disappear()
        client.requestTable.enterForeground()
        #expect(held.count == 2)
        model.appear()
        await held.respond(2, "3")
        await eventually { model.phase.text == "success 3" }
        await clock.advance(by: 10)
        client.requestTable.enterForeground()
        await held.respond(3, "4")
        await eventually { model.phase.text == "success 4" }
        #expect(held.count == 4 && hidden.phase.text == "success 2")
        let manual = RequestModel(GetNumber(id: 3), client: client)
        manual.appear()
        #expect(manual.phase.text == "idle")
    }

    @Test func changesOfConnectivityWithinASecondCountOnce() async {
        let monitor = ManualConnectivityMonitor(.unsatisfied)
        let client = held.client(clock, connectivity: monitor)
        let model = await loaded(client, 1, GetNumber(), RefetchPolicy(on: .reconnect))
        #expect(!client.requestTable.isWatching)
        model.appear()
        #expect(client.requestTable.isWatching)
        for path in [ConnectivityStatus.Path.satisfied, .unsatisfied, .satisfied] {
            await clock.advance(by: 0)
            monitor.set(path)
        }
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 0.5)
        #expect(model.phase.text == "success 1")
        await clock.advance(by: 0.5)
        await held.respond(1, "2")
        await eventually { model.phase.text == "success 2" }
        await clock.advance(by: 60)
        monitor.set(.unsatisfied)
        await clock.advance(by: 60)
        #expect(held.count == 2)
        model.disappear()
        #expect(!client.requestTable.isWatching)
        monitor.set(.satisfied)
        await clock.advance(by: 60)
        #expect(held.count == 2)
    }

    @Test func aWindowOfChangesOutlastsTheModelsThatItWasOpenedFor() async {
        let monitor = ManualConnectivityMonitor(.unsatisfied)
        let client = held.client(clock, connectivity: monitor)
        let model = await loaded(client, 1, GetNumber(), RefetchPolicy(on: .reconnect))
        model.appear()
        await clock.advance(by: 0)
        monitor.set(.satisfied)
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 0.5)
        model.disappear()
        #expect(!client.requestTable.isWatching)
        model.appear()
        await clock.advance(by: 0.5)
        await held.respond(1, "2")
        await eventually { model.phase.text == "success 2" }
    }

    @Test func theNetworkIsBackOnceASecond() {
        var machine = ReconnectStateMachine()
        func change(_ path: ConnectivityStatus.Path, _ time: TimeInterval) -> [TimeInterval]? {
            machine.change(to: path, at: time).map { [TimeInterval($0.window), $0.end] }
        }
        #expect(change(.unknown, 0) == nil)
        #expect(change(.satisfied, 0) == nil)
        #expect(change(.satisfied, 1) == nil)
        #expect(change(.unsatisfied, 2) == [1, 3])
        machine.restart()
        #expect(change(.satisfied, 2.5) == nil)
        var isBack = [machine.closeWindow(1)]
        // The network has not been away since.
        #expect(change(.unsatisfied, 5) == [2, 6])
        // The alarm of an earlier window.
        isBack.append(machine.closeWindow(1))
        #expect(change(.satisfied, 5.5) == nil)
        isBack.append(machine.closeWindow(2))
        #expect(change(.unsatisfied, 7) == [3, 8])
        isBack.append(machine.closeWindow(3))
        #expect(change(.satisfied, 8) == [4, 9])
        isBack += [machine.closeWindow(4), machine.closeWindow(4)]
        machine.restart()
        #expect(change(.unsatisfied, 10) == nil)
        #expect(isBack == [true, false, true, false, true, false])
    }

    @Test func aVisibleModelRequestsItsValuePeriodically() async {
        let client = held.client(clock)
        let model = await loaded(client, 1, GetNumber(), RefetchPolicy(every: 30))
        let second = RequestModel(GetNumber(), client: client, refetch: RefetchPolicy(staleAfter: 45, every: 20))
        await clock.advance(by: 100)
        #expect(held.count == 1)
        model.appear()
        // It is overdue.
        await held.respond(1, "", status: 500)
        await eventually { model.refreshError != nil }
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 29.5)
        #expect(held.count == 2)
        await clock.advance(by: 0.5)
        await held.respond(2, "3")
        await eventually { model.phase.text == "success 3" }
        second.appear()
        model.disappear()
        await clock.advance(by: 44)
        #expect(held.count == 3)
        await clock.advance(by: 1)
        await held.respond(3, "4")
        await eventually { second.phase.text == "success 4" }
        second.disappear()
        await clock.advance(by: 1_000)
        #expect(held.count == 4)
    }

    @Test func valuesBecomeStaleWhileTheMachineSleeps() async {
        let client = held.client(clock)
        let model = await loaded(client, 1, GetNumber(), RefetchPolicy(staleAfter: 60))
        clock.shiftWallClock(by: -3_600)
        await clock.advance(by: 59)
        #expect(await model.fetch().value.text == "success 1")
        // The uptime stands still meanwhile.
        clock.shiftWallClock(by: 3_600)
        #expect(model.fetch().isCancelled == false && model.phase.text == "refreshing 1")
        var time = RequestTime()
        let times = [0, 0.5, -5, 2, 0.5].map { seconds in
            clock.shiftWallClock(by: seconds)
            return time.read(clock)
        }
        #expect(times == [0, 0, 0, 2, 2])
    }

    // MARK: The store

    @Test func removingAllResetsEveryModelForGood() async {
        let client = held.client(clock)
        let policy = RefetchPolicy(on: [.appear, .foreground], every: 5, retention: 60)
        let model = await loaded(client, 1, GetNumber(), policy)
        let list = PagedModel(GetRows(), client: client)
        let follower = await loaded(client, 2, GetNumber(id: 2))
        follower.follow(GetNumber(id: 3), keepingValue: true)
        model.appear()
        await held.sent(3)
        list.fetch()
        async let prefetch: Void = client.requestStore.prefetch(GetNumber(id: 4))
        let task = model.refresh()
        await held.sent(6)
        client.requestStore.removeAll()
        #expect(await task.value.text == "idle")
        #expect(model.phase.text == "idle" && follower.phase.text == "idle" && list.phase.text == "idle")
        #expect(model.response == nil && follower.response == nil)
        await prefetch
        for number in 2..<6 { await held.respond(number, "9") }
        await clock.advance(by: 100)
        client.requestTable.enterForeground()
        await eventually { client.calls.count == 0 }
        #expect(model.phase.text == "idle" && held.count == 6 && client.requestTable.count == 3)
        let next = await loaded(client, 7, GetNumber())
        #expect(model.phase.text == "success 7" && next.phase.text == "success 7")
    }

    @Test func noModelIsToldOfAValueFromBeforeALogout() async {
        let client = held.client()
        let models = (0..<3).map { _ in RequestModel(GetNumber(), client: client) }
        let phases = models.map(\.phases)
        var seen: [String] = []
        models[1].core.onWillChange { [weak model = models[1]] in
            guard model?.phase.isLoading == true else { return }
            client.requestStore.removeAll()
            // Also the model that was told of the value, and the one that was not.
            seen = models.map(\.phase.text)
        }
        let task = models[1].fetch()
        await held.respond(0, "1")
        #expect(await task.value.text == "idle")
        #expect(seen == ["idle", "idle", "idle"])
        models[0].fetch()
        // What was not read is gone.
        for phases in phases { #expect(await texts(phases, 2, \.text) == ["idle", "loading"]) }
    }

    @Test func aModelThatIsToldMayFollow() async {
        let model = RequestModel(GetNumber(), client: held.client())
        let phases = model.phases
        model.core.onWillChange { [weak model] in
            if let model, model.phase.isLoading, model.endpoint.id == 1 {
                model.follow(GetNumber(id: 2))
                model.fetch()
            }
        }
        model.fetch()
        await held.respond(0, "1")
        await held.respond(1, "2")
        await eventually { model.phase.value == 2 }
        #expect(await texts(phases, 5, \.text) == ["idle", "loading", "idle", "loading", "success 2"])
    }

    @Test func anUnusedValueIsKeptForItsRetention() async {
        let client = held.client(clock)
        for (id, retention) in [(1, 0.0), (2, 10), (3, 100)] {
            let model = await loaded(client, id, GetNumber(id: id), RefetchPolicy(retention: retention))
            _ = RequestModel(GetNumber(id: id), client: client)
            #expect(model.phase.value == id)
        }
        await eventually { client.requestTable.count == 2 }
        await clock.advance(by: 9)
        let model = RequestModel(GetNumber(id: 2), client: client)
        #expect(model.phase.text == "success 2")
        await clock.advance(by: 90)
        #expect(RequestModel(GetNumber(id: 3), client: client).phase.text == "success 3")
        #expect(model.phase.text == "success 2")
        await clock.advance(by: 100)
        await eventually { client.requestTable.count == 1 }
    }

    @Test func invalidatedValuesAreStaleAndTheVisibleOnesAreRequested() async {
        let client = held.client(clock)
        let fresh = RefetchPolicy(staleAfter: .infinity, retention: .infinity)
        let visible = await loaded(client, 1, GetNumber(id: 1), fresh)
        let hidden = await loaded(client, 2, GetNumber(id: 2), fresh)
        _ = await loaded(client, 3, GetNumber(id: 3), fresh)
        await eventually { client.requestTable.count == 3 }
        visible.appear()
        client.requestStore.invalidate(GetUser.self)
        #expect(await visible.fetch().value.text == "success 1")
        client.requestStore.invalidate(GetNumber.self)
        await held.respond(3, "4")
        await eventually { visible.phase.text == "success 4" && client.requestTable.count == 2 }
        #expect(hidden.phase.text == "success 2")
        let task = hidden.fetch()
        await held.sent(5)
        // What is under way may be older than the change.
        client.requestStore.invalidate(GetNumber.self)
        await held.sent(7)
        await held.respond(4, "40")
        for number in 5..<7 { await held.respond(number, "5") }
        #expect(await task.value.text == "success 5")
        await eventually { visible.phase.text == "success 5" }
    }

    @Test func aPrefetchedValueWaitsForItsModel() async {
        let client = held.client(clock)
        let policy = RefetchPolicy(staleAfter: 30)
        async let first: Void = client.requestStore.prefetch(GetNumber())
        async let list: Void = client.requestStore.prefetch(firstPage: GetRows())
        await held.sent(2)
        let isNumberFirst = held.sent[0].hasPrefix("numbers")
        await held.respond(isNumberFirst ? 0 : 1, "1")
        await held.respond(isNumberFirst ? 1 : 0, #"{"rows":[1]}"#)
        _ = await (first, list)
        await client.requestStore.prefetch(GetNumber())
        let model = RequestModel(GetNumber(), client: client, refetch: policy)
        #expect(await model.fetch().value.text == "success 1")
        #expect(PagedModel(GetRows(), client: client).phase.text == "loaded [1]")
        #expect(held.count == 2)

        // The call ends with the last that wants it.
        let second = Task { await client.requestStore.prefetch(GetNumber(id: 2)) }
        await held.sent(3)
        let other = RequestModel(GetNumber(id: 2), client: client)
        other.fetch()
        second.cancel()
        await second.value
        #expect(other.phase.text == "loading")
        other.cancel()
        await eventually { held.cancelled == [2] }
        let third = Task { await client.requestStore.prefetch(GetNumber(id: 3)) }
        await held.sent(4)
        third.cancel()
        await third.value
        await eventually { held.cancelled == [2, 3] }
    }
}

private struct Search: Endpoint {
    typealias Response = Int
    var text: String
    var path: String { "/search" }
    var method: HTTPMethod { .query }
    var body: RequestBody { .data(Data(text.utf8)) }
}
