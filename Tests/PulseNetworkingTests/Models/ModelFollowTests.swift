// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseModels

@MainActor
@Suite(.tags(.threads), .throttled)
struct ModelFollowTests {
    private let held = HeldRequests()

    private func warnings() -> (PulseEventBus, RecordingSink) {
        let sink = RecordingSink()
        return (PulseEventBus(sink: sink), sink)
    }

    // MARK: Bodies

    @Test func aFollowedRequestWithABodyIsAnotherOne() async {
        let client = held.client()
        let model = RequestModel(Post(body: "a"), client: client)
        let phases = model.phases
        model.fetch()
        await held.respond(0, "1")
        await eventually { model.phase.value == 1 }
        model.follow(Post(body: "b"))
        #expect(model.phase.text == "idle" && model.response == nil)
        let left = model.fetch()
        await held.sent(2)
        model.follow(Post(body: "c"))
        #expect(await left.value.text == "idle")
        await eventually { held.cancelled == [1] }
        model.fetch()
        await held.respond(2, "3")
        await eventually { model.phase.value == 3 }
        model.follow(Post(body: "c"), keepingValue: true)
        model.fetch()
        #expect(model.phase.text == "refreshing 3" && client.requestTable.count == 1)
        await held.respond(3, "4")
        await eventually { model.phase.text == "success 4" }
        #expect(held.requests.map(\.httpBody) == ["a", "b", "c", "c"].map { Data($0.utf8) })
        #expect(
            await texts(phases, 10, \.text) == [
                "idle", "loading", "success 1", "idle", "loading", "idle", "loading", "success 3", "refreshing 3",
                "success 4",
            ])
    }

    private nonisolated static let bodies: [(RequestBody, RequestBody)] = [
        (.data(Data("a".utf8)), .data(Data("b".utf8))),
        (.json(Filter(tags: ["a"])), .json(Filter(tags: []))),
        (.json(JSONValue.object(["a": 1])), .json(JSONValue.object(["a": 2]))),
        (.formURLEncoded(Filter(tags: ["a"])), .formURLEncoded(Filter(tags: ["b"]))),
        (.graphQL(query: "{ a }"), .graphQL(query: "{ b }")),
    ]

    @Test(arguments: bodies)
    func aWrapperFollowsABody(body: RequestBody, other: RequestBody) async {
        let (events, sink) = warnings()
        let client = held.client(events: events)
        let model = RequestModel(Post(body), optional: nil, .manual)
        for _ in 0..<2 { model.update(Post(body), client: client, keepingValue: false, fetches: true) }
        await held.respond(0, "1")
        await eventually { model.phase.value == 1 }
        model.update(Post(body), client: client, keepingValue: false, fetches: true)
        #expect(model.phase.text == "success 1")
        for _ in 0..<2 { model.update(Post(other), client: client, keepingValue: false, fetches: true) }
        #expect(model.phase.text == "loading")
        await held.respond(1, "2")
        await eventually { model.phase.value == 2 }
        #expect(held.count == 2 && !sink.names.contains("warning"))
    }

    @Test func aWrapperWarnsOfABodyThatCannotBeCompared() async {
        func form(_ text: String) -> RequestBody {
            .multipart(MultipartFormData(parts: [.init(name: "text", data: Data(text.utf8))]))
        }
        let (events, sink) = warnings()
        let client = held.client(events: events)
        let model = RequestModel(Post(form("a")), optional: nil, .manual)
        model.update(Post(form("a")), client: client, keepingValue: false, fetches: true)
        await held.respond(0, "1")
        await eventually { model.phase.value == 1 }
        for _ in 0..<2 { model.update(Post(form("bc")), client: client, keepingValue: false, fetches: true) }
        #expect(model.phase.text == "success 1" && sink.names.count { $0 == "warning" } == 1)
        model.refresh()
        await held.sent(2)
        #expect(held.requests[1].httpBody.map { String(decoding: $0, as: UTF8.self).contains("bc") } == true)
    }

    @Test func aBodyIsComparedByWhatIsSent() {
        #expect(RequestBody.none.comparisonValue == RequestBody.none.comparisonValue)
        let files = ["/a", "/a", "/b"].map { RequestBody.file(URL(fileURLWithPath: $0)).comparisonValue }
        #expect(files[0] == files[1] && files[0] != files[2] && files[0] != nil)
        let bytes = [1, 1, 2].map { byte in RequestBody.encoded(contentType: "a/b") { Data([byte]) }.comparisonValue }
        #expect(bytes[0] == bytes[1] && bytes[0] != bytes[2] && bytes[0] != nil)
        #expect(RequestBody.encoded(contentType: "a/b") { throw PulseError.emptyBody }.comparisonValue == nil)
    }

    // MARK: Shared requests

    @Test func theLaterOfTwoEqualEndpointsMakesTheCallUnlessItIsShared() async {
        let client = held.client()
        let model = RequestModel(Scaled(factor: 1), client: client)
        model.follow(Scaled(factor: 3))
        model.fetch()
        await held.respond(0, "2")
        await eventually { model.phase.value == 6 }
        let other = RequestModel(Scaled(factor: 5), client: client)
        #expect(other.phase.value == 6)
        other.follow(Scaled(factor: 7))
        other.refresh()
        await held.respond(1, "10")
        await eventually { model.phase.value == 30 }
    }

    @Test func followingALoadingRequestWhileLoadingTellsNothing() async {
        let client = held.client()
        let models = [1, 2].map { RequestModel(GetNumber(id: $0), client: client) }
        let phases = models[0].phases
        models.forEach { $0.fetch() }
        await held.sent(2)
        models[0].follow(GetNumber(id: 2))
        for number in 0..<2 { await held.respond(number, "2") }
        await eventually { models[0].phase.value == 2 }
        #expect(await texts(phases, 3, \.text) == ["idle", "loading", "success 2"])
    }

    // MARK: Changes by those that are told

    @Test func aModelMayFollowFurtherWhileItLeaves() async {
        let client = held.client()
        let other = await held.loaded(2, GetNumber(id: 2), by: client)
        let models = (0..<2).map { _ in RequestModel(GetNumber(id: 1), client: client) }
        models[0].fetch()
        await held.sent(2)
        // Told as the call ends, which no model wants.
        models[1].core.onWillChange { models[0].follow(GetNumber(id: 3)) }
        models[0].follow(GetNumber(id: 2))
        #expect(models[0].phase.text == "idle" && models[0].endpoint.id == 3 && other.phase.text == "success 2")
        models[0].fetch()
        await held.respond(2, "3")
        await eventually { models[0].phase.text == "success 3" }
        #expect(held.sent == ["numbers/2", "numbers/1", "numbers/3"])
    }

    @Test func aModelMayFollowAsItAppears() async {
        let client = held.client()
        let other = await held.loaded(2, GetNumber(id: 2), by: client)
        let model = RequestModel(GetNumber(id: 1), client: client, refetch: RefetchPolicy(on: .appear))
        model.appear()
        await held.sent(2)
        model.core.onWillChange { [weak model] in
            if model?.endpoint.id == 2 { model?.follow(GetNumber(id: 3)) }
        }
        model.follow(GetNumber(id: 2))
        await held.respond(2, "3")
        await eventually { model.phase.text == "success 3" }
        #expect(held.sent == ["numbers/2", "numbers/1", "numbers/3"] && other.phase.text == "success 2")
    }

    @Test func aModelMayGetAClientWhileItLosesOne() async {
        let client = held.client()
        let models = (0..<2).map { _ in RequestModel(GetNumber(), client: client) }
        models[0].fetch()
        await held.respond(0, "5")
        await eventually { models[0].phase.value == 5 }
        models[0].refresh()
        await held.sent(2)
        models[1].core.onWillChange { models[0].core.use(client) }
        models[0].core.use(nil)
        #expect(models.map(\.phase.text) == ["success 5", "success 5"])
    }
}

/// Its body cannot be part of a key.
private struct Post: Endpoint {
    typealias Response = Int
    let body: RequestBody
    var path: String { "/search" }
    var method: HTTPMethod { .query }

    init(_ body: RequestBody) { self.body = body }

    init(body: String) { self.body = .data(Data(body.utf8)) }
}

private struct Filter: Encodable {
    let tags: [String]
}

/// Equal for every factor, as far as what is sent.
private struct Scaled: Endpoint {
    typealias Response = Int
    let factor: Int
    var path: String { "/numbers/1" }

    func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> Int {
        try decoder.decode(Int.self, from: response.data) * factor
    }
}
