// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseClient {
    /// The pages of a list, from the page that `first` requests to the one without a next page.
    public func pages<E: PaginatedEndpoint>(
        _ first: E, options: RequestOptions = RequestOptions()
    ) -> Pages<E.Response> {
        Pages(request(first, options) { endpoint, page in try endpoint.next(after: page) })
    }

    /// The pages of a list.
    ///
    /// - Parameter next: returns the endpoint of the following page, or nil after the last. An error that it throws
    ///   ends the iteration.
    public func pages<E: Endpoint>(
        _ first: E, next: @escaping @Sendable (DecodedResponse<E.Response>) throws -> E?,
        options: RequestOptions = RequestOptions()
    ) -> Pages<E.Response> {
        Pages(request(first, options) { _, page in try next(page) })
    }

    /// The pages of a list whose responses link to the next page: `Link: <…>; rel="next"` (RFC 8288).
    ///
    /// The next page is a GET of the link, with the header fields, options and plugins of `first`. Secret header fields
    /// are not sent to another origin, nor restored by a link back, unless both origins are home. A link from https to
    /// http, or to another scheme, ends the iteration with ``PulseError/transport(_:underlying:)`` of
    /// `badServerResponse`.
    public func pages<E: Endpoint>(
        linkedFrom first: E, options: RequestOptions = RequestOptions()
    ) -> Pages<E.Response> {
        Pages(linked(first, first, options, isForeign: false))
    }

    private func request<E: Endpoint>(
        _ endpoint: E, _ options: RequestOptions,
        _ next: @escaping @Sendable (E, DecodedResponse<E.Response>) throws -> E?
    ) -> PageRequest<E.Response> {
        PageRequest { walk in
            let page = try await self.response(for: endpoint, options, in: walk)
            return PageRequest.Page(response: page) {
                try next(endpoint, page).map { self.request($0, options, next) }
            }
        }
    }

    /// - Parameter isForeign: whether secrets of the client's settings and plugins are withheld as well. A client with
    ///   a home decides this by the origin; without one, a link must not choose where secrets go.
    private func linked<First: Endpoint, E: Endpoint>(
        _ first: First, _ endpoint: E, _ options: RequestOptions, isForeign: Bool
    ) -> PageRequest<E.Response> where E.Response == First.Response {
        PageRequest { walk in
            let page = try await self.response(for: endpoint, options, in: walk, isForeign: isForeign)
            return PageRequest.Page(response: page) {
                guard let url = try Self.nextLink(in: page.response) else { return nil }
                var next = LinkedPage(first: first, url: url, headers: endpoint.headers, options: endpoint.options)
                var options = options
                // Each page is attributed to the route of the first.
                next.options.route = next.options.route ?? "\(First.self)"
                var isForeign = isForeign
                if let start = walk.first, !self.environment.keepsOwnSecrets(of: start, at: url) {
                    isForeign = self.environment.home.isEmpty
                    next.headers = self.withoutSecrets(next.headers)
                    next.options.headers = next.options.headers.map(self.withoutSecrets)
                    options.headers = options.headers.map(self.withoutSecrets)
                }
                return self.linked(first, next, options, isForeign: isForeign)
            }
        }
    }

    /// The link to the next page, without a fragment. Throws for a link that must not be followed.
    private static func nextLink(in response: PulseResponse) throws -> URL? {
        guard let link = response.link("next") else { return nil }
        let scheme = link.scheme?.asciiLowercased
        guard scheme == "https" || scheme == "http" else {
            throw PageFault.failure("the link to the next page is no http or https URL")
        }
        if scheme == "http", response.request.url?.scheme?.asciiLowercased == "https" {
            throw PageFault.failure("the link to the next page leads from https to http")
        }
        let text = link.absoluteString
        return URL(string: String(text.prefix { $0 != "#" }))
    }

    private func withoutSecrets(_ headers: [String: String]) -> [String: String] {
        var kept = headers
        for (name, value) in headers { kept[name] = environment.foreignValue(value, of: name) }
        return kept
    }

    private func response<E: Endpoint>(
        for endpoint: E, _ options: RequestOptions, in walk: PageWalk, isForeign: Bool = false
    ) async throws -> DecodedResponse<E.Response> {
        try await decoded(endpoint) { decode in
            let plan = self.plan(endpoint, options, CallShape(isForeign: isForeign), decode: decode)
            return try await self.perform(plan.inspected { try walk.check($0, of: endpoint) })
        }
    }
}

/// The endpoint of a page that another page links to.
private struct LinkedPage<First: Endpoint>: Endpoint {
    typealias Response = First.Response

    let first: First
    let url: URL
    var headers: [String: String]
    var options: RequestOptions

    var path: String { url.absoluteString }
    var timeoutInterval: TimeInterval { first.timeoutInterval }
    var plugins: [any PulsePlugin] { first.plugins }

    func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> First.Response {
        try first.decode(response, using: decoder)
    }
}
