// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore

/// The pages of a list that were loaded so far.
struct PageList<E: PaginatedEndpoint>: RequestContent {
    /// The maximum number of pages without a new item that one run loads.
    private static var limit: Int { 10 }

    private(set) var items = E.Items()
    /// The request for the next page; nil after the last.
    private(set) var next: E?
    /// The response with the last page.
    private(set) var response: PulseResponse?
    private(set) var date: Date?
    /// Whether the last run reached the limit of pages without a new item, and there are more.
    private(set) var isExhausted = false
    private let asksServer: Bool
    private var listed = ListedIDs()
    private var loaded: Set<RequestFingerprint> = []

    var hasMore: Bool { next != nil }

    /// - Parameter asksServer: whether stored responses must be revalidated, including those of later pages.
    init(from first: E, asksServer: Bool = false) {
        next = first
        self.asksServer = asksServer
    }

    /// The calls of a request for pages.
    static func work(_ first: E) -> SharedRequest<PageList>.Work {
        { client, list, run in
            let start = PageList(from: first, asksServer: run.asksServer)
            var list = run.load == .more ? list ?? start : start
            try await list.load(from: client)
            return list
        }
    }

    /// Loads pages until one adds an item.
    mutating func load(from client: PulseClient) async throws {
        isExhausted = false
        for _ in 0..<Self.limit {
            guard let endpoint = next else { return }
            guard let page = try await page(endpoint, from: client) else {
                next = nil
                client.environment.warnOnce(
                    "the next page of \(E.self) is one that was loaded before: the list ends")
                return
            }
            let following = try endpoint.next(after: page)
            (response, date) = (page.response, client.environment.clock.now)
            if add(endpoint.items(of: page.value), next: following) { return }
        }
        isExhausted = next != nil
    }

    /// Appends the items that are not listed yet. Returns whether there are any.
    mutating func add(_ page: E.Items, next: E?) -> Bool {
        self.next = next
        let count = items.count
        if E.Items.Element.self is any Identifiable.Type {
            items.append(contentsOf: page.filter { listed.insert($0) })
        } else {
            items.append(contentsOf: page)
        }
        return items.count > count
    }

    /// Returns nil and sends nothing if the page was loaded before.
    private mutating func page(_ endpoint: E, from client: PulseClient) async throws -> DecodedResponse<E.Response>? {
        var fingerprint: RequestFingerprint?
        var isRepeated = false
        let loaded = loaded
        do {
            let page = try await client.decoded(endpoint) { decode in
                let plan = client.plan(
                    endpoint, client.options(of: endpoint, asksServer: asksServer), decode: decode
                ).inspected { request in
                    fingerprint = RequestFingerprint(request, of: endpoint)
                    isRepeated = fingerprint.map(loaded.contains) ?? false
                    if isRepeated { throw PageFault.failure("the next page is one that was fetched before") }
                }
                return try await client.perform(plan)
            }
            if let fingerprint { self.loaded.insert(fingerprint) }
            return page
        } catch  where isRepeated {
            return nil
        }
    }
}

/// The ids of listed elements.
// Unchecked: each id comes from a Sendable element, which exposes it to any thread.
private struct ListedIDs: @unchecked Sendable {
    private var ids: Set<AnyHashable> = []

    /// Returns whether the element was not listed; true for an element without an id.
    mutating func insert(_ element: Any) -> Bool {
        guard let element = element as? any Identifiable else { return true }
        return ids.insert(Self.id(of: element)).inserted
    }

    private static func id(of element: some Identifiable) -> AnyHashable { AnyHashable(element.id) }
}
