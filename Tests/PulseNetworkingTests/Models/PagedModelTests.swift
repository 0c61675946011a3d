// SPDX-License-Identifier: MIT

import PulseCore
import PulseModels
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@MainActor
@Suite(.tags(.threads), .throttled)
struct PagedModelTests {
    private let held = HeldRequests()

    private func model() -> PagedModel<GetRows> { PagedModel(GetRows(), client: held.client()) }

    private func page(_ rows: [Int], _ next: Int? = nil) -> String {
        #"{"rows":\#(rows)\#(next.map { #","next":\#($0)"# } ?? "")}"#
    }

    @Test func loadsPageAfterPageAndListsEachElementOnce() async {
        let model = model()
        let phases = model.phases
        async let first = model.fetch().value
        await held.respond(0, page([1, 2, 2], 1))
        #expect(await first.text == "loaded [1, 2] more")
        let more = [model.loadMore(), model.loadMore()]
        await held.respond(1, page([2, 3], 2))
        for task in more { #expect(await task.value.text == "loaded [1, 2, 3] more") }
        async let last = model.loadMore().value
        await held.respond(2, page([4]))
        #expect(await last.text == "loaded [1, 2, 3, 4]")
        #expect(await model.loadMore().value.text == "loaded [1, 2, 3, 4]")
        #expect(model.response?.statusCode == 200 && model.updatedAt != nil)
        #expect(held.sent == ["a/0", "a/1", "a/2"])
        #expect(
            await texts(phases, 7, \.text) == [
                "idle", "loading", "loaded [1, 2] more", "loadingMore [1, 2]", "loaded [1, 2, 3] more",
                "loadingMore [1, 2, 3]", "loaded [1, 2, 3, 4]",
            ])
    }

    @Test func refreshReplacesAllAndCancelsLoadMore() async {
        let model = model()
        let phases = model.phases
        let first = model.loadMore()
        await held.respond(0, page([1], 1))
        _ = await first.value
        let more = model.loadMore()
        await held.sent(2)
        let refresh = model.refresh()
        let late = model.loadMore()
        await held.sent(3)
        await eventually { held.cancelled == [1] }
        await held.respond(1, page([2], 2))
        await held.respond(2, page([5, 1], 1))
        for task in [more, refresh, late] { #expect(await task.value.text == "loaded [5, 1] more") }
        #expect(
            await texts(phases, 6, \.text) == [
                "idle", "loading", "loaded [1] more", "loadingMore [1]", "refreshing [1]", "loaded [5, 1] more",
            ])
        let next = model.loadMore()
        await held.respond(3, page([2]))
        #expect(await next.value.text == "loaded [5, 1, 2]")
    }

    @Test func aPageThatAddsNothingLoadsTheNextAtMostTenInARow() async {
        let model = model()
        let task = model.fetch()
        for number in 0..<10 { await held.respond(number, page([], number + 1)) }
        #expect(await task.value.text == "loaded [] more")
        #expect(model.isStalled)
        model.loadMoreIfNeeded()
        #expect(model.phase.text == "loaded [] more")
        let more = model.loadMore()
        await held.respond(10, page([1], 11))
        #expect(await more.value.text == "loaded [1] more")
        #expect(!model.isStalled)
        let last = model.loadMore()
        await held.respond(11, page([1], 12))
        await held.respond(12, page([2]))
        #expect(await last.value.text == "loaded [1, 2]")
        #expect(held.sent == (0..<13).map { "a/\($0)" })
    }

    @Test func aPageThatWasLoadedBeforeEndsTheListWithAWarning() async {
        let sink = RecordingSink()
        let model = PagedModel(GetRows(), client: held.client(events: PulseEventBus(sink: sink)))
        let first = model.fetch()
        await held.respond(0, page([1], 1))
        _ = await first.value
        let more = model.loadMore()
        await held.respond(1, page([1], 0))
        #expect(await more.value.text == "loaded [1]")
        #expect(await model.loadMore().value.text == "loaded [1]")
        #expect(held.count == 2)
        #expect(sink.names.count { $0 == "warning" } == 1)
        // A new list may load the same pages.
        let refresh = model.refresh()
        await held.respond(2, page([2], 1))
        #expect(await refresh.value.text == "loaded [2] more")
    }

    @Test func afterAFailureOnlyAnExplicitCallLoadsMore() async {
        let model = model()
        let phases = model.phases
        model.loadMoreIfNeeded()
        #expect(model.phase.text == "idle")
        let first = model.fetch()
        await held.respond(0, page([1], 1))
        _ = await first.value
        model.loadMoreIfNeeded()
        await held.respond(1, "", status: 503)
        await eventually { model.refreshError != nil }
        model.loadMoreIfNeeded()
        #expect(model.phase.text == "failure http [1]")
        let cancelled = model.loadMore()
        await held.sent(3)
        model.cancel()
        #expect(await cancelled.value.text == "failure http [1]")
        let retry = model.loadMore()
        await held.respond(3, page([2], -1))
        #expect(await retry.value.text == "failure emptyBody [1]")
        let last = model.loadMore()
        await held.respond(4, page([2]))
        #expect(await last.value.text == "loaded [1, 2]")
        #expect(held.sent == ["a/0", "a/1", "a/1", "a/1", "a/1"])
        #expect(
            await texts(phases, 11, \.text) == [
                "idle", "loading", "loaded [1] more", "loadingMore [1]", "failure http [1]", "loadingMore [1]",
                "failure http [1]", "loadingMore [1]", "failure emptyBody [1]", "loadingMore [1]", "loaded [1, 2]",
            ])
        let refresh = model.refresh()
        await held.respond(5, "", status: 500)
        #expect(await refresh.value.text == "failure http [1, 2]")
    }

    @Test(arguments: [nil, 1]) func afterAFailedRefreshAnExplicitCallLoadsTheFirstPageAgain(next: Int?) async throws {
        let model = model()
        let phases = model.phases
        let first = model.fetch()
        await held.respond(0, page([1], next))
        _ = await first.value
        let refresh = model.refresh()
        await held.respond(1, "", status: 500)
        _ = await refresh.value
        model.loadMoreIfNeeded()
        let cancelled = model.loadMore()
        try #require(model.phase.text == "refreshing [1]")
        await held.sent(3)
        model.cancel()
        _ = await cancelled.value
        let failing = model.loadMore()
        await held.respond(3, "", status: 500)
        _ = await failing.value
        let retry = model.loadMore()
        await held.respond(4, page([2], 1))
        _ = await retry.value
        let more = model.loadMore()
        await held.respond(5, page([3]))
        _ = await more.value
        #expect(held.sent == ["a/0", "a/0", "a/0", "a/0", "a/0", "a/1"])
        #expect(
            await texts(phases, 12, \.text) == [
                "idle", "loading", next == nil ? "loaded [1]" : "loaded [1] more", "refreshing [1]", "failure http [1]",
                "refreshing [1]", "failure http [1]", "refreshing [1]", "failure http [1]", "refreshing [1]",
                "loaded [2] more", "loadingMore [2]",
            ])
        #expect(model.phase.text == "loaded [2, 3]" && model.refreshError == nil)
    }

    @Test func modelsOfOneListShareIt() async {
        let client = held.client()
        let models = [PagedModel(GetRows(), client: client), PagedModel(GetRows(), client: client)]
        let task = models[0].fetch()
        await held.respond(0, page([1], 1))
        _ = await task.value
        let more = models[1].loadMore()
        #expect(models[0].phase.text == "loadingMore [1]")
        models[0].cancel()
        await held.respond(1, page([2]))
        #expect(await more.value.text == "loaded [1, 2]")
        #expect(models[0].phase.text == "loaded [1, 2]")
        models[0].follow(GetRows(list: "b"), keepingValue: true)
        let other = models[0].loadMore()
        #expect(models[0].phase.text == "refreshing [1, 2]" && models[1].phase.text == "loaded [1, 2]")
        await held.respond(2, page([7]))
        #expect(await other.value.text == "loaded [7]")
    }

    @Test func thePagesAfterARefreshAreRevalidatedToo() async {
        let caches = Locked<[RequestOptions.Cache?]>([])
        let plugin = ClosurePlugin(identifier: "com.pulse.cache", scope: .call) { request, context, next in
            caches.withLock { $0.append(context.options.cache) }
            return try await next(request)
        }
        let model = PagedModel(GetRows(), client: held.client(plugins: [plugin]))
        for (number, load) in [model.fetch, model.loadMore, model.refresh, model.loadMore].enumerated() {
            let task = load()
            await held.respond(number, page([number], number + 1))
            _ = await task.value
        }
        #expect(caches.withLock { $0 } == [.default, .default, .revalidate, .revalidate])
    }

    @Test func elementsWithoutAnIDAreAllListed() async {
        let model = PagedModel(GetNumbers(), client: held.client())
        let task = model.fetch()
        await held.respond(0, "[1,1]")
        #expect(await task.value.items == [1, 1])
    }
}

/// A response that is the collection itself.
private struct GetNumbers: PaginatedEndpoint, Hashable {
    typealias Response = [Int]
    var path: String { "/numbers" }
    func next(after page: DecodedResponse<[Int]>) -> GetNumbers? { nil }
}
