// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@testable import PulseModels

/// What the SwiftUI code leaves to models.
@MainActor
@Suite(.tags(.threads), .throttled)
struct ViewModelTests {
    private let held = HeldRequests()
    private let clock = TestClock()

    // MARK: Updates of views

    @Test func aWrapperFetchesItsFirstRequestAndEachOneThatItFollows() async {
        let client = held.client(clock)
        let model = RequestModel(GetNumber(id: 1), optional: nil, .manual)
        let phases = model.phases
        for _ in 0..<3 { model.update(GetNumber(id: 1), client: client, keepingValue: false, fetches: true) }
        #expect(model.phase.text == "loading")
        await held.respond(0, "1")
        await eventually { model.phase.value == 1 }
        model.update(GetNumber(id: 1), client: client, keepingValue: false, fetches: true)
        model.update(GetNumber(id: 2), client: client, keepingValue: false, fetches: true)
        #expect(model.phase.text == "loading" && model.endpoint.id == 2)
        await held.respond(1, "2")
        await eventually { model.phase.value == 2 }
        model.update(GetNumber(id: 3), client: client, keepingValue: true, fetches: true)
        #expect(model.phase.text == "refreshing 2")
        await held.respond(2, "3")
        await eventually { model.phase.text == "success 3" }
        #expect(
            await texts(phases, 8, \.text) == [
                "idle", "loading", "success 1", "idle", "loading", "success 2", "refreshing 2", "success 3",
            ])
        #expect(held.sent == ["numbers/1", "numbers/2", "numbers/3"])
    }

    @Test func aWrapperFetchesFromANewClient() async {
        let others = HeldRequests()
        let list = PagedModel(GetRows(), optional: nil, .manual)
        list.update(GetRows(), client: held.client(clock), fetches: true)
        await held.respond(0, #"{"rows":[1]}"#)
        await eventually { list.phase.text == "loaded [1]" }
        let client = others.client(clock)
        for _ in 0..<2 { list.update(GetRows(), client: client, fetches: true) }
        #expect(list.phase.text == "loading")
        await others.respond(0, #"{"rows":[2]}"#)
        await eventually { list.phase.text == "loaded [2]" }
        list.update(GetRows(list: "b"), client: client, fetches: true)
        await others.respond(1, #"{"rows":[3]}"#)
        await eventually { list.phase.text == "loaded [3]" }
        #expect(held.count == 1 && others.sent == ["a/0", "b/0"] && list.endpoint.list == "b")
    }

    @Test func aWrapperSendsNothingUnlessItIsToldTo() async {
        let client = held.client(clock)
        let model = RequestModel(GetNumber(id: 1), optional: nil, .manual)
        for id in 1...3 { model.update(GetNumber(id: id), client: client, keepingValue: false, fetches: false) }
        // The default client is not read: the model is in no table.
        let other = RequestModel(GetNumber(id: 1), optional: nil, .manual)
        other.update(GetNumber(id: 2), client: nil, keepingValue: false, fetches: false)
        await turns()
        #expect(held.count == 0 && model.phase.text == "idle" && client.requestTable.count == 1)
        #expect(!other.core.isMember && model.core.isMember)
    }

    @Test func noModelAnnouncesAChangeDuringAViewUpdate() async {
        let client = held.client(clock)
        let model = RequestModel(GetNumber(id: 1), client: client)
        let sharing = RequestModel(GetNumber(id: 2), client: client)
        model.fetch()
        await held.respond(0, "1")
        await eventually { model.phase.value == 1 }
        var told: [String] = []
        model.core.onWillChange { told.append("model") }
        sharing.core.onWillChange { told.append("sharing") }
        ViewUpdate.perform {
            model.update(GetNumber(id: 2), client: client, keepingValue: false, fetches: true)
            #expect(model.phase.text == "loading" && sharing.phase.text == "loading")
        }
        #expect(told.isEmpty)
        await turns()
        // Each is told once, although one has changed twice.
        #expect(told.sorted() == ["model", "sharing"])
        await held.respond(1, "2")
        await eventually { told.count == 4 }
        #expect(model.phase.value == 2 && sharing.phase.value == 2)
    }

    // MARK: Visibility

    @Test func aModelIsVisibleWhileAViewShowsIt() async {
        let client = held.client(clock)
        let model = RequestModel(GetNumber(), client: client, refetch: RefetchPolicy(on: .foreground))
        model.fetch()
        await held.respond(0, "0")
        await eventually { model.phase.value == 0 }
        let views = (0..<2).map { _ in Task { await model.core.stayVisible() } }
        await turns()
        for (number, view) in views.enumerated() {
            client.requestTable.enterForeground()
            await held.respond(number + 1, "\(number + 1)")
            await eventually { model.phase.text == "success \(number + 1)" }
            view.cancel()
            await view.value
        }
        client.requestTable.enterForeground()
        await turns()
        #expect(held.count == 3)
    }

    @Test func aViewThatHasGoneAlreadyShowsNoModel() async {
        let model = RequestModel(GetNumber(), client: held.client(clock), refetch: RefetchPolicy(on: .appear))
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await model.core.stayVisible()
        }
        await late.value
        #expect(model.phase.text == "idle")
        model.appear()
        #expect(model.phase.text == "loading")
    }

    @Test(arguments: ForegroundObserver.names)
    func theSystemTellsOfTheForeground(name: String) async {
        let center = NotificationCenter()
        let client = held.client(clock)
        client.requestTable.notifications = center
        let model = RequestModel(GetNumber(), client: client, refetch: RefetchPolicy(on: .foreground))
        model.appear()
        model.fetch()
        await held.respond(0, "0")
        await eventually { model.phase.value == 0 }
        center.post(name: Notification.Name(name), object: nil)
        await held.respond(1, "1")
        await eventually { model.phase.text == "success 1" }
        center.post(name: Notification.Name("other"), object: nil)
        await turns()
        #expect(held.count == 2)
    }

    @Test func anObserverOfTheForegroundEndsWithItsOwner() {
        let center = NotificationCenter()
        let calls = Locked(0)
        var observer: ForegroundObserver? = ForegroundObserver(center) { calls.withLock { $0 += 1 } }
        let name = Notification.Name(ForegroundObserver.names[0])
        center.post(name: name, object: nil)
        #expect(calls.withLock { $0 } == 1 && observer != nil)
        observer = nil
        center.post(name: name, object: nil)
        #expect(calls.withLock { $0 } == 1)
    }
}
