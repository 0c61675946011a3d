// SPDX-License-Identifier: MIT

import PulseCore

/// A request as the client builds it, before any plugin has seen it.
struct BuiltRequest: Sendable {
    var urlRequest: URLRequest
    /// The URL of `urlRequest`.
    var url: URL
    var body: BodySource
}

/// Makes a request of an endpoint: URL, merged headers, encoded body. Fails before anything is sent.
struct RequestBuilder: Sendable {
    private let composer: URLComposer
    private let bodyEncoder: BodyEncoder
    private let environment: CallEnvironment
    private let encoder: any RequestEncoder
    private let decoder: any ResponseDecoder
    /// What goes to any origin, and what goes home: the same fields and the secret ones.
    private let publicDefaults: [String: String]
    private let homeDefaults: [String: String]
    /// A setting that no request can be built with; thrown by every one.
    private let defect: PulseError?

    init(_ configuration: PulseConfiguration, environment: CallEnvironment) {
        composer = URLComposer(baseURL: configuration.baseURL)
        bodyEncoder = BodyEncoder(randomness: configuration.randomness)
        self.environment = environment
        encoder = configuration.encoder
        decoder = configuration.decoder
        let defaults = ["User-Agent": UserAgent.standard].overridden(by: configuration.defaultHeaders)
        homeDefaults = defaults
        publicDefaults = defaults.filter { !environment.redaction.isSecret($0.key) }
        defect = configuration.trustedOrigins.first { Origin($0) == nil }
            .map { .invalidURL("trusted origin \($0): no http or https URL with a host") }
    }

    func build<E: Endpoint>(_ endpoint: E, _ options: RequestOptions) throws -> BuiltRequest {
        if let defect { throw defect }
        let url = try composer.url(path: endpoint.path, query: Self.query(of: endpoint))
        var request = URLRequest(url: url)
        request.httpMethod = endpoint.method.rawValue
        let accept = E.Response.self is any Decodable.Type && !(E.Response.self is any ResponseValue.Type)
            ? (options.decoder ?? decoder).contentType : "*/*"
        let headers = endpoint.headers.overridden(by: options.headers ?? [:])
        return try finish(&request, url, headers, endpoint.body, accept: accept, options)
    }

    /// A ready request: its method, headers and body stand for the endpoint's.
    func build(_ ready: URLRequest, _ options: RequestOptions) throws -> BuiltRequest {
        if let defect { throw defect }
        guard let url = ready.url?.absoluteURL, Origin(url) != nil, url.scheme?.lowercased().hasPrefix("http") == true else {
            throw PulseError.invalidURL("a ready request needs an absolute http or https URL")
        }
        guard ready.httpBodyStream == nil else {
            throw PulseError.unsupported("httpBodyStream can be read only once; use RequestBody.stream")
        }
        var request = ready
        request.url = url
        let headers = (ready.allHTTPHeaderFields ?? [:]).overridden(by: options.headers ?? [:])
        let body = ready.httpBody.map { RequestBody.data($0) } ?? .none
        return try finish(&request, url, headers, body, accept: "*/*", options)
    }

    private func finish(
        _ request: inout URLRequest, _ url: URL, _ own: [String: String], _ body: RequestBody, accept: String,
        _ options: RequestOptions
    ) throws -> BuiltRequest {
        // Without a home nothing is foreign: the client has one server per call, and its settings are meant for it.
        let isHome = environment.home.isEmpty || environment.isHome(url)
        var headers = (isHome ? homeDefaults : publicDefaults).overridden(by: own)
        if headers.header("Accept") == nil { headers["Accept"] = accept }
        let encoded = try bodyEncoder.encode(body, using: options.encoder ?? encoder)
        if let type = encoded.contentType, headers.header("Content-Type") == nil { headers["Content-Type"] = type }
        for (name, value) in headers {
            try HTTPHeaders.validate(name: name, value: value)
        }
        request.allHTTPHeaderFields = headers
        request.httpBody = encoded.bytes
        request.timeoutInterval = options.timeout ?? 0
        return BuiltRequest(urlRequest: request, url: url, body: encoded.source)
    }

    private static func query(of endpoint: some Endpoint) -> [URLQueryItem] {
        let parameters = endpoint.queryParameters
        guard !parameters.isEmpty else { return endpoint.queryItems }
        return parameters.sorted { $0.key < $1.key }.map { URLQueryItem(name: $0.key, value: $0.value) }
            + endpoint.queryItems
    }
}
