// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlugins
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulseModels

@MainActor
@Suite(.tags(.threads), .throttled)
struct RequestModelTests {
    private let held = HeldRequests()
    private let clock = TestClock()

    @Test func showsEveryPhaseOfAValueAndItsFailedRefresh() async {
        let model = RequestModel(GetNumber(), client: held.client(clock))
        let phases = model.phases
        #expect(held.count == 0 && model.response == nil && model.updatedAt == nil)
        async let first = model.fetch().value
        await held.respond(0, "7")
        #expect(await first.text == "success 7")
        #expect(model.response?.statusCode == 200 && model.updatedAt == clock.now)
        let loadedAt = clock.now
        await clock.advance(by: 5)
        async let second = model.refresh().value
        await held.respond(1, "8", status: 500)
        #expect(await second.text == "success 7")
        #expect(model.refreshError?.statusCode == 500 && model.updatedAt == loadedAt)
        async let third = model.refresh().value
        await held.sent(3)
        #expect(model.refreshError?.statusCode == 500)
        await held.respond(2, "9")
        #expect(await third.value == 9)
        #expect(model.refreshError == nil && model.phase.text == "success 9")
        #expect(
            await texts(phases, 7, \.text) == [
                "idle", "loading", "success 7", "refreshing 7", "success 7", "refreshing 7", "success 9",
            ])
    }

    @Test func aFirstFailureIsRetried() async {
        let model = RequestModel(GetNumber(), client: held.client())
        let phases = model.phases
        async let first = model.fetch().value
        await held.respond(0, "", status: 503)
        #expect(await first.error?.statusCode == 503)
        #expect(model.refreshError == nil && model.phase.value == nil)
        async let second = model.fetch().value
        await held.respond(1, "1")
        #expect(await second.value == 1)
        #expect(await texts(phases, 5, \.text) == ["idle", "loading", "failure http", "loading", "success 1"])
    }

    @Test func fetchJoinsACallAndDoesNothingWhileTheValueIsFresh() async {
        let model = RequestModel(GetNumber(), client: held.client(clock), refetch: RefetchPolicy(staleAfter: 10))
        let tasks = [model.fetch(), model.fetch()]
        await held.respond(0, "1")
        for task in tasks { #expect(await task.value.text == "success 1") }
        await clock.advance(by: 9)
        #expect(await model.fetch().value.text == "success 1")
        await clock.advance(by: 1)
        let late = model.fetch()
        #expect(model.phase.text == "refreshing 1")
        await held.respond(1, "2")
        #expect(await late.value.text == "success 2")
        #expect(held.count == 2)
    }

    @Test func refreshReplacesACallAndAllTasksGetTheNewResult() async {
        let model = RequestModel(GetNumber(), client: held.client())
        let phases = model.phases
        let tasks = [model.fetch()]
        await held.sent(1)
        let all = tasks + [model.refresh()]
        await held.sent(2)
        await eventually { held.cancelled == [0] }
        await held.respond(0, "1")
        await held.respond(1, "2")
        for task in all { #expect(await task.value.text == "success 2") }
        #expect(await texts(phases, 3, \.text) == ["idle", "loading", "success 2"])
    }

    @Test func cancellationRestoresThePhase() async {
        let client = held.client()
        let model = RequestModel(GetNumber(), client: client)
        let phases = model.phases
        let first = model.fetch()
        await held.sent(1)
        model.cancel()
        #expect(await first.value.text == "idle")
        await eventually { held.cancelled == [0] }
        model.fetch()
        await held.respond(1, "1", status: 500)
        await eventually { model.phase.error != nil }
        model.fetch()
        await held.sent(3)
        // The client's cancellation counts as the model's.
        client.cancelAll()
        await eventually { !model.phase.isLoading }
        #expect(
            await texts(phases, 7, \.text) == [
                "idle", "loading", "idle", "loading", "failure http", "loading", "failure http",
            ])
        async let value = model.fetch().value
        await held.respond(3, "4")
        #expect(await value.value == 4)
        let refresh = model.refresh()
        refresh.cancel()
        // The task alone ends; the run is the model's.
        #expect(await refresh.value.text == "success 4" && model.phase.text == "refreshing 4")
        await held.respond(4, "5")
        await eventually { model.phase.text == "success 5" }
    }

    @Test func anObserverMayChangeWhatItIsToldOf() async {
        let client = held.client()
        let models = (0..<2).map { _ in RequestModel(GetNumber(), client: client) }
        let phases = models.map(\.phases)
        var seen: [String] = []
        models[0].core.onWillChange { [weak model = models[0]] in
            guard let model else { return }
            seen.append(model.phase.text)
            if model.phase.isLoading, seen.count < 4 { model.refresh() }
        }
        let task = models[0].fetch()
        for number in 0..<2 { await held.respond(number, "\(number)", status: 503) }
        #expect(await task.value.text == "failure http")
        await eventually { seen.count == 4 }
        for phases in phases {
            #expect(
                await texts(phases, 5, \.text) == ["idle", "loading", "failure http", "loading", "failure http"])
        }
        #expect(seen == ["idle", "loading", "failure http", "loading"])
    }

    @Test func aDroppedModelLeavesItsCall() async {
        let client = held.client()
        let other = RequestModel(GetNumber(id: 2), client: client)
        var models = [RequestModel(GetNumber(), client: client), RequestModel(GetNumber(id: 2), client: client)]
        let tasks = models.map { $0.fetch() }
        other.fetch()
        await held.sent(2)
        weak var dropped: ModelCore<LoadedValue<Int>, RequestPhase<Int>>?
        dropped = models[0].core
        models = []
        await eventually { held.cancelled.count == 1 }
        #expect(dropped == nil && client.requestTable.count == 1)
        #expect(await tasks[0].value.text == "idle")
        // The other model wants the other call.
        #expect(await tasks[1].value.text == "idle" && other.phase.text == "loading")
        for number in 0..<2 { await held.respond(number, "3") }
        await eventually { other.phase.text == "success 3" }
    }

    @Test func manyModelsShareOneCall() async throws {
        try await ClientStage.run { client, server in
            let gate = Gate()
            server.on(.get, "/numbers/1") { _ in
                await gate.pass()
                return try .json(1)
            }
            let models = (0..<50).map { _ in RequestModel(GetNumber(), client: client) }
            let tasks = models.map { $0.fetch() }
            try await server.wait { $0.requests.count == 1 }
            #expect(models.allSatisfy { $0.phase.isLoading })
            models.dropLast().forEach { $0.cancel() }
            for task in tasks.dropLast() { #expect(await task.value.text == "idle") }
            gate.open()
            #expect(await tasks[49].value.value == 1)
            #expect(models.allSatisfy { $0.phase.value == 1 })
            #expect(server.activity.requests.count == 1)
        }
    }

    @Test func theCallEndsOnceNoModelWantsIt() async throws {
        try await ClientStage.run { client, server in
            let gate = Gate()
            server.on(.get, "/numbers/1") { _ in
                await gate.pass()
                return try .json(1)
            }
            let models = (0..<50).map { _ in RequestModel(GetNumber(), client: client) }
            models.forEach { $0.fetch() }
            try await server.wait { $0.requests.count == 1 }
            models.forEach { $0.cancel() }
            try await server.wait { $0.connectionsClosedByClient.count == 1 }
            #expect(models.allSatisfy { $0.phase.text == "idle" })
            gate.open()
        }
    }

    @Test func aThousandDroppedModelsLeaveNothingBehind() async {
        let client = held.client(clock)
        weak var last: ModelCore<LoadedValue<Int>, RequestPhase<Int>>?
        for id in 0..<1_000 {
            let policy = RefetchPolicy(on: [.appear, .reconnect, .foreground], every: 5)
            let model = RequestModel(GetNumber(id: id % 100), client: client, refetch: policy)
            model.appear()
            last = model.core
        }
        await eventually { client.requestTable.count == 0 }
        #expect(last == nil && !client.requestTable.isWatching)
        await eventually { held.cancelled.count == held.count && client.calls.count == 0 }
    }

    @Test func decodesOffTheMainActor() async {
        let threads = Locked<[Bool]>([])
        let model = RequestModel(ThreadNumber(threads: threads), client: held.client())
        async let value = model.fetch().value
        await held.respond(0, "1")
        #expect(await value.value == 1)
        #expect(threads.withLock { $0 } == [false, false])
    }

    @Test func aModelMayGetItsClientLater() async {
        let model = RequestModel(GetNumber(), optional: nil, RefetchPolicy())
        let phases = model.phases
        model.follow(GetNumber(id: 2))
        model.appear()
        model.cancel()
        let clients = [held.client(), held.client()]
        let other = RequestModel(GetNumber(id: 3), client: clients[1])
        model.core.use(clients[0])
        let task = model.fetch()
        await held.respond(0, "1")
        #expect(await task.value.text == "success 1")
        #expect(held.sent == ["numbers/2"])
        model.core.use(clients[0])
        model.fetch()
        await held.sent(2)
        model.core.use(clients[1])
        await eventually { held.cancelled == [1] }
        #expect(clients.map(\.requestTable.count) == [0, 2])
        model.follow(GetNumber(id: 3))
        model.fetch()
        #expect(other.phase.text == "loading")
        await held.respond(2, "3")
        await eventually { model.phase.text == "success 3" }
        model.follow(GetNumber(id: 4), keepingValue: true)
        #expect(model.phase.text == "success 3")
        model.core.use(nil)
        #expect(clients.map(\.requestTable.count) == [0, 1] && other.phase.text == "success 3")
        #expect(
            await texts(phases, 8, \.text) == [
                "idle", "loading", "success 1", "refreshing 1", "idle", "loading", "success 3", "idle",
            ])
    }

    @Test func theDefaultClientIsReadWhenARequestStarts() async {
        let reads = Locked(0)
        let model = RequestModel(UnsentNumber(reads: reads), optional: nil, RefetchPolicy(on: .foreground))
        model.appear()
        model.disappear()
        #expect(reads.withLock { $0 } == 0)
        // The default client has no base URL.
        #expect(await model.fetch().value.error?.kind == .invalidURL)
        #expect(reads.withLock { $0 } > 0)
    }

    @Test func aRefreshRevalidatesIfThereIsACache() async {
        let caches = Locked<[RequestOptions.Cache?]>([])
        let plugin = ClosurePlugin(identifier: "com.pulse.cache", scope: .call) { request, context, next in
            caches.withLock { $0.append(context.options.cache) }
            return try await next(request)
        }
        let client = held.client(plugins: [plugin])
        let models = [.init(), RequestOptions().with(\.cache, value: .reload)].map {
            RequestModel(CachedNumber(options: $0), client: client)
        }
        for (number, task) in [models[0].fetch, models[0].refresh, models[1].refresh].enumerated() {
            let task = task()
            await held.respond(number, "1")
            _ = await task.value
        }
        #expect(caches.withLock { $0 } == [.default, .revalidate, .reload])

        let sink = RecordingSink()
        let other = HeldRequests()
        let model = RequestModel(GetNumber(), client: other.client(events: PulseEventBus(sink: sink)))
        async let value = model.refresh().value
        await other.respond(0, "1")
        #expect(await value.value == 1)
        #expect(!sink.names.contains("warning"))
    }
}

private struct ThreadNumber: Endpoint {
    typealias Response = Int
    let threads: Locked<[Bool]>
    var path: String { "/numbers/1" }
    var method: HTTPMethod { .post }
    var body: RequestBody { .json(Body(threads: threads)) }

    private struct Body: Encodable {
        let threads: Locked<[Bool]>
        func encode(to encoder: any Encoder) throws {
            threads.withLock { $0.append(Thread.isMainThread) }
            var container = encoder.singleValueContainer()
            try container.encode(1)
        }
    }

    func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> Int {
        threads.withLock { $0.append(Thread.isMainThread) }
        return 1
    }
}

/// Counts how often it is compared or sent.
private struct UnsentNumber: Endpoint {
    typealias Response = Int
    let reads: Locked<Int>
    var path: String {
        reads.withLock { $0 += 1 }
        return "/numbers/1"
    }
}

private struct CachedNumber: Endpoint {
    typealias Response = Int
    var options: RequestOptions
    var path: String { "/numbers/1" }
}
