// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@testable import PulseModels

/// Logouts, and responses that come too late.
@MainActor
@Suite(.tags(.threads), .throttled)
struct ModelResetTests {
    private let held = HeldRequests()
    private let late = LateRuns()

    // MARK: Logouts

    @Test func noModelKeepsAValueOverALogout() async {
        let client = held.client()
        var models: [RequestModel<GetNumber>] = []
        for id in 1...4 { models.append(await held.loaded(id, GetNumber(id: id), by: client)) }
        let all = models
        var seen: Set<String> = []
        for model in models {
            model.core.onWillChange {
                seen.formUnion(all.map(\.phase.text))
                for other in all where other.endpoint.id <= 4 {
                    other.follow(GetNumber(id: other.endpoint.id + 4), keepingValue: true)
                }
            }
        }
        client.requestStore.removeAll()
        for model in models { model.core.onWillChange {} }
        #expect(models.allSatisfy { $0.phase.text == "idle" && $0.response == nil } && seen == ["idle"])
        #expect(client.requestTable.count == 4)
    }

    @Test func aCallOfAModelThatIsToldOfALogoutGoesOn() async {
        let client = held.client()
        let models = [
            await held.loaded(1, GetNumber(id: 1), by: client), await held.loaded(2, GetNumber(id: 2), by: client),
        ]
        for (number, model) in models.enumerated() {
            model.refresh()
            model.core.onWillChange { models[1 - number].fetch() }
        }
        await held.sent(4)
        client.requestStore.removeAll()
        for model in models { model.core.onWillChange {} }
        await eventually { held.cancelled == [2, 3] }
        await held.sent(6)
        for number in 2..<6 { await held.respond(number, "\(number)") }
        await eventually { models.allSatisfy { !$0.phase.isLoading } }
        #expect(Set(models.map(\.phase.text)) == ["success 4", "success 5"])
    }

    @Test func aLogoutDuringAChangeIsDoneWhenItReturns() async {
        let client = held.client()
        let models = (0..<3).map { _ in RequestModel(GetNumber(), client: client) }
        let other = await held.loaded(2, GetNumber(id: 2), by: client)
        let phases = models.map(\.phases)
        models[1].core.onWillChange { [weak model = models[1]] in
            guard model?.phase.text == "idle", models[0].phase.isLoading else { return }
            client.requestStore.removeAll()
            #expect((models + [other]).allSatisfy { $0.phase.text == "idle" })
        }
        let task = models[0].fetch()
        #expect(await task.value.text == "idle")
        #expect(models.allSatisfy { $0.phase.text == "idle" })
        models[1].core.onWillChange {}
        models[2].fetch()
        for phases in phases { #expect(await texts(phases, 2, \.text) == ["idle", "loading"]) }
    }

    @Test func aChangeThatALogoutInterruptsIsNotToldTwice() async {
        let client = held.client()
        let cores = (0..<3).map { _ in late.core(1, client) }
        var isDone = false
        cores[1].onWillChange {
            guard !isDone else { return }
            isDone = true
            client.requestStore.removeAll()
            _ = cores[1].ask(.fetch)
        }
        let phases = cores.map { $0.updates() }
        _ = cores[0].ask(.fetch)
        for number in 0..<2 { await late.end(number, 1) }
        await eventually { cores.allSatisfy { $0.phase.text == "success 1" } }
        for phases in phases { #expect(await texts(phases, 3, \.text) == ["idle", "loading", "success 1"]) }
    }

    @Test func aStreamGivesNothingFromBeforeALogout() async {
        let client = held.client()
        let model = await held.loaded(1, by: client)
        let phases = model.phases
        #expect(await texts(phases, 1, \.text) == ["success 1"])
        model.refresh()
        await held.sent(2)
        client.requestStore.removeAll()
        #expect(await texts(phases, 1, \.text) == ["idle"])
        model.fetch()
        await held.respond(2, "2")
        await eventually { model.phase.value == 2 }
        model.follow(GetNumber(id: 2))
        // The model is idle, the stream is not.
        client.requestStore.removeAll()
        #expect(await texts(phases, 1, \.text) == ["idle"])
    }

    @Test func aStreamEndsWithItsModelOrItsTask() async {
        let client = held.client()
        var model: RequestModel<GetNumber>? = await held.loaded(1, by: client)
        let phases = [model, model].compactMap { $0?.phases }
        let lists = phases.map { _ in Locked<[String]>([]) }
        let readings = zip(phases, lists).map { phases, list in
            Task { for await phase in phases { list.withLock { $0.append(phase.text) } } }
        }
        await eventually { lists.allSatisfy { $0.withLock { $0.count } == 1 } }
        readings[0].cancel()
        await readings[0].value
        model = nil
        await readings[1].value
        #expect(lists.map { $0.withLock { $0 } } == [["success 1"], ["success 1"]])
    }

    // MARK: Late responses

    @Test func aLateResponseToAReplacedCallChangesNothing() async {
        let core = late.core(1, held.client())
        let phases = core.updates()
        let tasks = [core.ask(.fetch)]
        await late.started(1)
        let all = tasks + [core.ask(.refresh)]
        await late.end(0, 1)
        #expect(core.phase.text == "loading")
        await late.end(1, 2)
        for task in all { #expect(await task.value.text == "success 2") }
        #expect(await texts(phases, 3, \.text) == ["idle", "loading", "success 2"])
    }

    @Test func aLateResponseAfterALogoutChangesNothing() async {
        let client = held.client()
        let core = late.core(1, client)
        let task = core.ask(.fetch)
        await late.started(1)
        client.requestStore.removeAll()
        #expect(await task.value.text == "idle")
        await late.end(0, 1)
        #expect(core.phase.text == "idle")
        _ = core.ask(.fetch)
        await late.started(2)
        #expect(late.core(1, client).phase.text == "loading")
        await late.end(1, 2)
        await eventually { core.phase.text == "success 2" }
    }

    @Test func aLateResponseToTheRequestBeforeChangesNothing() async {
        let client = held.client()
        let core = late.core(1, client)
        _ = core.ask(.fetch)
        await late.started(1)
        core.follow(late.target(2), keepingContent: true)
        await late.end(0, 1)
        #expect(core.phase.text == "idle" && late.core(1, client).phase.text == "idle")
        core.follow(late.target(1), keepingContent: true)
        _ = core.ask(.fetch)
        await late.end(1, 2)
        await eventually { core.phase.text == "success 2" }
    }

    @Test func aLateResponseToACancelledOrDroppedModelChangesNothing() async {
        let client = held.client()
        let policy = RefetchPolicy(retention: .infinity)
        var core: ModelCore<LateRuns.Content, RequestPhase<Int>>? = late.core(1, client, policy)
        let other = late.core(2, client)
        _ = other.ask(.fetch)
        let task = core?.ask(.fetch)
        await late.started(2)
        core = nil
        other.cancel()
        #expect(await task?.value.text == "idle" && other.phase.text == "idle")
        for number in 0..<2 { await late.end(number, number) }
        #expect(client.requestTable.count == 1)
        #expect(other.phase.text == "idle" && late.core(1, client).phase.text == "idle")
    }
}
