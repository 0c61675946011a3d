// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct PagesTests {
    private struct Page: Codable, Sendable, Equatable {
        var items: [Int]
        var next: String?
    }

    private struct List: PaginatedEndpoint {
        typealias Response = Page
        var cursor: String?
        var headers: [String: String] = [:]
        var options = RequestOptions()
        var path: String { "/items" }
        var queryParameters: [String: String] { cursor.map { ["cursor": $0] } ?? [:] }

        func next(after page: DecodedResponse<Page>) throws -> List? {
            if page.value.next == "fail" { throw URLError(.badURL) }
            return page.value.next.map { List(cursor: $0, headers: headers, options: options) }
        }
        func items(of page: Page) -> [Int] { page.items }
    }

    /// Responds with the pages by cursor.
    private static func client(
        _ pages: [String: Page], base: String = "https://api.example.com/v1",
        links: [String: String] = [:]
    ) -> (PulseClient, MockTransport) {
        let transport = MockTransport { request in
            let url = request.url?.absoluteString ?? ""
            let cursor = url.split(separator: "=").dropFirst().last.map(String.init) ?? ""
            var headers: HTTPHeaders = ["Content-Type": "application/json"]
            if let link = links[cursor] { headers["Link"] = "<\(link)>; rel=\"next\"" }
            guard let page = pages[cursor] else {
                return PulseResponse(statusCode: 500, headers: headers, request: request)
            }
            return PulseResponse(
                statusCode: 200, headers: headers, data: try JSONEncoder().encode(page), request: request)
        }
        return (ClientStage.client(.test(base), over: transport), transport)
    }

    private static let three = [
        "": Page(items: [1, 2], next: "b"), "b": Page(items: [], next: "c"), "c": Page(items: [3], next: nil),
    ]

    private func items(_ pages: PulseClient.Pages<Page>) async -> (items: [[Int]], error: PulseError?) {
        var items: [[Int]] = []
        do {
            for try await page in pages { items.append(page.value.items) }
            return (items, nil)
        } catch {
            return (items, PulseError(wrapping: error))
        }
    }

    @Test(arguments: [false, true])
    func anEmptyPageWithANextOneGoesOn(isPrefetching: Bool) async {
        let (client, transport) = Self.client(Self.three)
        let pages = client.pages(List()).prefetching(isPrefetching)
        for _ in 0..<2 {
            let found = await items(pages)
            #expect(found.items == [[1, 2], [], [3]] && found.error == nil)
        }
        // Each walk starts with the first page.
        #expect(transport.requests.count == 6)
        let byClosure = await items(client.pages(List()) { page in page.value.next.map { List(cursor: $0) } })
        #expect(byClosure.items == [[1, 2], [], [3]])
    }

    @Test func nothingIsFetchedAheadUnlessAskedFor() async throws {
        let (client, transport) = Self.client(Self.three)
        var iterator = client.pages(List()).makeAsyncIterator()
        #expect(transport.requests.isEmpty)
        _ = try await iterator.next()
        for _ in 0..<100 { await Task.yield() }
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [false, true])
    func aLimitEndsTheWalk(isPrefetching: Bool) async throws {
        let (client, transport) = Self.client(Self.three)
        let pages = client.pages(List()).prefetching(isPrefetching)
        #expect(await items(pages.limited(to: 2)).items == [[1, 2], []])
        for _ in 0..<100 { await Task.yield() }
        #expect(transport.requests.count == 2)
        #expect(await items(pages.limited(to: 0)).items == [])
        #expect(await items(pages.limited(to: -1)).error?.kind == .invalidRequest)
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: [false, true])
    func anErrorComesInItsTurn(isPrefetching: Bool) async throws {
        let (client, transport) = Self.client(["": Page(items: [1], next: "b"), "b": Page(items: [2], next: "gone")])
        var iterator = client.pages(List()).prefetching(isPrefetching).makeAsyncIterator()
        #expect(try await iterator.next()?.value.items == [1])
        #expect(try await iterator.next()?.value.items == [2])
        let error = await #expect(throws: PulseError.self) { try await iterator.next() }
        #expect(error?.statusCode == 500)
        #expect(try await iterator.next() == nil)
        #expect(transport.requests.count == 3)
        let (other, _) = Self.client(["": Page(items: [1], next: "fail")])
        let thrown = await items(other.pages(List()).prefetching(isPrefetching))
        #expect(thrown.items == [[1]])
        guard case .transport(.badURL, _) = thrown.error else {
            Issue.record("\(String(describing: thrown.error))")
            return
        }
    }

    @Test func aCircleEndsTheWalk() async {
        let (client, transport) = Self.client(["": Page(items: [1], next: "b"), "b": Page(items: [2], next: "b")])
        let found = await items(client.pages(List()))
        #expect(found.items == [[1], [2]])
        guard case .transport(.badServerResponse, _) = found.error else {
            Issue.record("\(String(describing: found.error))")
            return
        }
        #expect(transport.requests.count == 2)
    }

    /// An id of each request, as a value that is computed.
    private struct Traced: PaginatedEndpoint {
        typealias Response = Page
        var cursor: String?
        let path = "/items"
        var queryParameters: [String: String] { cursor.map { ["cursor": $0] } ?? [:] }
        var headers: [String: String] { ["x-request-id": UUID().uuidString, "X-Tenant": "a"] }

        func next(after page: DecodedResponse<Page>) -> Traced? { page.value.next.map { Traced(cursor: $0) } }
        func items(of page: Page) -> [Int] { page.items }
    }

    @Test func anIDOfEachRequestHidesNoCircle() async {
        let (client, transport) = Self.client(["": Page(items: [1], next: "b"), "b": Page(items: [2], next: "b")])
        let found = await items(client.pages(Traced()).limited(to: 10))
        #expect(found.items == [[1], [2]] && found.error?.kind == .transport)
        #expect(transport.requests.count == 2)
        #expect(Set(transport.requests.map { $0.value(forHTTPHeaderField: "X-Request-ID") }).count == 2)
    }

    enum Place: CaseIterable { case url, header, body }

    /// A request like the others but for one byte, far from its beginning.
    private struct Search: Endpoint {
        typealias Response = Page
        let place: Place
        var number = 0
        let path = "/search"
        let method = HTTPMethod.post

        private func text(_ place: Place) -> String {
            let filling = String(repeating: "x", count: 200)
            return filling + (place == self.place ? "\(number)" : "") + filling
        }

        var queryParameters: [String: String] { ["query": text(.url)] }
        var headers: [String: String] { ["X-Filter": text(.header)] }
        var body: RequestBody { .text(text(.body)) }
    }

    @Test(arguments: Place.allCases)
    func requestsThatDifferInOneByteAreNoCircle(place: Place) async {
        let numbers = Locked(0)
        let transport = MockTransport { request in
            let number = numbers.withLock { number in
                number += 1
                return number
            }
            let page = Page(items: [number], next: number < 5 ? "\(number)" : nil)
            return PulseResponse(
                statusCode: 200, headers: ["Content-Type": "application/json"], data: try JSONEncoder().encode(page),
                request: request)
        }
        let client = ClientStage.client(.root, over: transport)
        let pages = client.pages(Search(place: place)) { page in
            page.value.next.flatMap { Int($0) }.map { Search(place: place, number: $0) }
        }
        let found = await items(pages)
        #expect(found.items == [[1], [2], [3], [4], [5]] && found.error == nil)
    }

    @Test func aPrefetchEndsWithItsReader() async throws {
        let clock = TestClock()
        let cancelled = AsyncStream<Void>.makeStream()
        let transport = MockTransport { request in
            if request.url?.query != nil {
                do {
                    try await clock.sleep(1, for: .delay)
                } catch {
                    cancelled.continuation.yield()
                    throw error
                }
            }
            let data = try JSONEncoder().encode(Page(items: [1], next: "b"))
            return PulseResponse(statusCode: 200, data: data, request: request)
        }
        let client = ClientStage.client(over: transport)
        do {
            var iterator = client.pages(List()).prefetching().makeAsyncIterator()
            _ = try await iterator.next()
            await clock.sleepers(atLeast: 1)
        }
        for await _ in cancelled.stream { break }
        await client.shutdown()
    }

    // MARK: Links

    private static let linked = [
        "": Page(items: [1], next: nil), "2": Page(items: [2], next: nil), "3": Page(items: [3], next: nil),
    ]

    private static let secret = List(headers: [
        "Authorization": "Bearer secret", "X-Plain": "p", "Referer": "https://shop.example/cart?item=7",
    ])

    private func authorizations(_ transport: MockTransport) -> [String?] {
        transport.requests.map { $0.value(forHTTPHeaderField: "Authorization") }
    }

    @Test func linksAreFollowedWithTheHeadersOfTheFirst() async throws {
        let (client, transport) = Self.client(
            Self.linked, links: ["": "?page=2", "2": "https://api.example.com/other?page=3#part"])
        let options = RequestOptions().with(\.headers, value: ["X-API-Key": "key"])
        let found = await items(client.pages(linkedFrom: Self.secret, options: options))
        #expect(found.items == [[1], [2], [3]] && found.error == nil)
        #expect(authorizations(transport) == Array(repeating: "Bearer secret", count: 3))
        #expect(transport.requests.map { $0.value(forHTTPHeaderField: "X-API-Key") } == ["key", "key", "key"])
        #expect(
            transport.requests.map { $0.url?.absoluteString } == [
                "https://api.example.com/v1/items", "https://api.example.com/v1/items?page=2",
                "https://api.example.com/other?page=3",
            ])
    }

    @Test func aLinkElsewhereTakesNoSecretsAlongAndNoneBack() async throws {
        let (client, transport) = Self.client(
            Self.linked,
            links: ["": "https://elsewhere.example/items?page=2", "2": "https://api.example.com/items?page=3"])
        let options = RequestOptions().with(\.headers, value: ["X-API-Key": "key"])
        let found = await items(client.pages(linkedFrom: Self.secret, options: options))
        #expect(found.items == [[1], [2], [3]] && found.error == nil)
        #expect(authorizations(transport) == ["Bearer secret", nil, nil])
        #expect(transport.requests.map { $0.value(forHTTPHeaderField: "X-API-Key") } == ["key", nil, nil])
        #expect(transport.requests.map { $0.value(forHTTPHeaderField: "X-Plain") } == ["p", "p", "p"])
        let origin = "https://shop.example/"
        #expect(
            transport.requests.map { $0.value(forHTTPHeaderField: "Referer") } == [
                "\(origin)cart?item=7", origin, origin,
            ])
    }

    /// A client without a home trusts the servers that a call names, but not those that a response names.
    @Test func aLinkElsewhereGetsNoSecretOfAClientWithoutAHome() async throws {
        struct Listing: Endpoint {
            typealias Response = Page
            let path = "https://api.example.com/items"
        }
        let (_, transport) = Self.client(
            Self.linked,
            links: ["": "https://api.example.com/items?page=2", "2": "https://elsewhere.example/items?page=3"])
        let client = ClientStage.client(
            PulseConfiguration().with(\.defaultHeaders, value: ["Authorization": "Bearer secret"]),
            plugins: [.headers(["X-API-Key": "key"])], over: transport)
        let found = await items(client.pages(linkedFrom: Listing()))
        #expect(found.items == [[1], [2], [3]] && found.error == nil)
        #expect(authorizations(transport) == ["Bearer secret", "Bearer secret", nil])
        #expect(transport.requests.map { $0.value(forHTTPHeaderField: "X-API-Key") } == ["key", "key", nil])
    }

    @Test(arguments: [
        "http://api.example.com/items?page=2", "ftp://api.example.com/?page=2", "file:///etc/passwd", "?page=",
    ])
    func aLinkThatMustNotBeFollowedEndsTheWalk(link: String) async throws {
        let (client, transport) = Self.client(Self.linked, links: ["": link, "page": link])
        var first = Self.secret
        if link == "?page=" { first.cursor = nil }
        let found = await items(client.pages(linkedFrom: first))
        guard case .transport(.badServerResponse, _) = found.error else {
            Issue.record("\(String(describing: found.error))")
            return
        }
        #expect(transport.requests.count == (link == "?page=" ? 2 : 1))
    }
}
