// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// A request as built by the client, before plugins see it.
package struct BuiltRequest: Sendable {
    package var urlRequest: URLRequest
    /// The URL of `urlRequest`.
    package var url: URL
    package var body: PluginContext.Body
    /// The destination of `url`.
    package var destination: Destination
    /// Whether another server chose the URL, which then receives no secrets of the client's settings and plugins.
    package var isForeign = false
    /// The idempotency key set by the endpoint itself.
    var ownKey: String?
    /// The default query items in `url`. Like secret default headers, they are not stored.
    var defaultQuery: [URLQueryItem] = []

    /// The URL without the default query items: it may be stored, and stays the same when their values change.
    package var storableURL: URL { url.removing(defaultQuery) }

    /// Whether credentials may go to `url`.
    var isHome: Bool { destination.isHome }
}

/// Builds a request from an endpoint: URL, merged headers, encoded body. Fails before anything is sent.
///
/// A class, because every call holds it: one reference instead of a copy of all settings.
final class RequestBuilder: Sendable {
    private let composer: URLComposer
    private let bodyEncoder: BodyEncoder
    private let environment: CallEnvironment
    private let encoder: any RequestEncoder
    private let decoder: any ResponseDecoder
    private let configuration: PulseConfiguration
    private let defaultQuery: [URLQueryItem]
    /// The default fields for any origin. The home defaults also include the secret fields.
    private let publicDefaults: DefaultHeaders
    private let homeDefaults: DefaultHeaders
    /// All default fields except `Accept`.
    private let defaults: [String: String]
    /// The destination of requests with a relative path.
    private let base: Destination
    /// A configuration error that prevents building any request; every call throws it.
    private let defect: PulseError?

    init(_ configuration: PulseConfiguration, environment: CallEnvironment) {
        composer = URLComposer(baseURL: configuration.baseURL)
        bodyEncoder = BodyEncoder(randomness: configuration.randomness)
        self.environment = environment
        encoder = configuration.encoder
        decoder = configuration.decoder
        self.configuration = configuration
        defaultQuery = configuration.defaultQueryItems
        defaults = configuration.headersOfEveryRequest
        homeDefaults = DefaultHeaders(defaults, decoder: decoder)
        publicDefaults = DefaultHeaders(
            defaults.filter { !environment.redaction.isSecret($0.key) }, decoder: decoder)
        base = Destination(configuration.baseURL.flatMap { Origin($0) }, home: environment.home)
        defect = Self.defect(of: configuration)
    }

    private static func defect(of configuration: PulseConfiguration) -> PulseError? {
        if let url = configuration.trustedOrigins.first(where: { Origin($0) == nil }) {
            return .invalidURL("trusted origin \(Redaction.standard.url(url)): no http or https URL with a host")
        }
        do {
            for (name, value) in configuration.defaultHeaders {
                try HTTPHeaders.validate(name: name, value: value)
            }
            return nil
        } catch {
            return PulseError(wrapping: error)
        }
    }

    /// - Parameter path: the endpoint's path.
    /// - Parameter body: the endpoint's body.
    /// - Parameter accept: the `Accept` of a request that does not set it; nil for the media type of the decoder.
    func build<E: Endpoint>(
        _ endpoint: E, path: String, _ body: RequestBody, _ options: RequestOptions, accept: String? = nil,
        isForeign: Bool = false
    ) throws -> BuiltRequest {
        if let defect { throw defect }
        let content = body.callContent
        let query = Self.query(of: endpoint)
        var url = try composer.url(path: path, query: query)
        let destination = AbsoluteURL.hasScheme(path) ? Destination(Origin(url), home: environment.home) : base
        let defaultQuery = isForeign ? [] : missingDefaults(in: url, destination)
        url = url.adding(defaultQuery)
        var request = URLRequest(url: url)
        // Setting the same method again costs as much as creating the request.
        let method = endpoint.method
        if method != .get { request.httpMethod = method.rawValue }
        let accept =
            accept ?? (E.usesDecoder ? (options.decoder ?? decoder).contentType : content?.accept ?? "*/*")
        let headers = endpoint.headers.overridden(by: options.headers ?? [:])
        let encoder = options.encoder ?? encoder
        var built = try finish(
            &request, url, destination, headers, content?.body(using: encoder) ?? body, accept: accept,
            options, isForeign: isForeign)
        built.defaultQuery = defaultQuery
        try content?.complete(&built, in: configuration, using: encoder)
        return built
    }

    /// Builds a request from a `URLRequest`, whose method, headers and body replace those of an endpoint.
    func build(_ ready: URLRequest, _ options: RequestOptions) throws -> BuiltRequest {
        if let defect { throw defect }
        let url = try ready.readyURL()
        var request = ready
        request.url = url
        var headers = (ready.allHTTPHeaderFields ?? [:]).overridden(by: options.headers ?? [:])
        // The body has no content type that would take precedence over a default.
        if headers.header("Content-Type") == nil { headers["Content-Type"] = defaults.header("Content-Type") }
        let body = ready.httpBody.map { RequestBody.data($0) } ?? .none
        let destination = Destination(Origin(url), home: environment.home)
        return try finish(&request, url, destination, headers, body, accept: "*/*", options)
    }

    /// Rebuilds a request from the offline queue. Defaults that were not stored get their current values, where the
    /// destination permits them.
    func rebuild(_ replay: QueuedSend, _ options: RequestOptions) throws -> BuiltRequest {
        if let defect { throw defect }
        guard let stored = replay.request.url, let origin = Origin(stored) else {
            throw PulseError.invalidURL("a queued request needs an absolute http or https URL")
        }
        let destination = Destination(origin, home: environment.home)
        let defaultQuery = missingDefaults(in: stored, destination)
        let url = stored.adding(defaultQuery)
        var request = replay.request
        request.url = url
        let mayCarrySecrets = environment.allowsSecrets(at: destination)
        let unstored = defaults.filter { name, _ in
            environment.redaction.isSecret(name)
                ? mayCarrySecrets : replay.droppedDefaults.contains { $0.equalsIgnoringASCIICase(name) }
        }
        var headers = unstored.overridden(by: request.allHTTPHeaderFields ?? [:])
        if let key = replay.key { headers.setHeader("Idempotency-Key", to: key) }
        for (name, value) in headers {
            try HTTPHeaders.validate(name: name, value: value)
        }
        request.allHTTPHeaderFields = headers
        request.timeoutInterval = options.timeout ?? 0
        request.setNetworkOptions(options)
        return BuiltRequest(
            urlRequest: request, url: url, body: replay.body, destination: destination, ownKey: replay.key,
            defaultQuery: defaultQuery)
    }

    /// The default query items whose names the URL lacks, if the destination may receive them.
    private func missingDefaults(in url: URL, _ destination: Destination) -> [URLQueryItem] {
        guard !defaultQuery.isEmpty, environment.allowsSecrets(at: destination) else { return [] }
        let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems ?? []
        let names = Set(items.map(\.name))
        return defaultQuery.filter { !names.contains($0.name) }
    }

    private func finish(
        _ request: inout URLRequest, _ url: URL, _ destination: Destination, _ own: [String: String],
        _ body: RequestBody, accept: String, _ options: RequestOptions, isForeign: Bool = false
    ) throws -> BuiltRequest {
        for (name, value) in own {
            try HTTPHeaders.validate(name: name, value: value)
        }
        let allowsSecrets = environment.allowsSecrets(at: destination) && !isForeign
        var headers = (allowsSecrets ? homeDefaults : publicDefaults)
            .fields(accept: accept).overridden(by: own)
        let declared = own.header("Content-Type")
        let encoded = try bodyEncoder.encode(body, using: options.encoder ?? encoder, declaredAs: declared)
        if let type = encoded.contentType, declared == nil || encoded.isForm {
            headers.setHeader("Content-Type", to: type)
        }
        request.allHTTPHeaderFields = headers
        if let bytes = encoded.bytes { request.httpBody = bytes }
        request.timeoutInterval = options.timeout ?? 0
        request.setNetworkOptions(options)
        return BuiltRequest(
            urlRequest: request, url: url, body: encoded.source, destination: destination, isForeign: isForeign,
            ownKey: own.isEmpty ? nil : own.header("Idempotency-Key"))
    }

    private static func query(of endpoint: some Endpoint) -> [URLQueryItem] {
        let parameters = endpoint.queryParameters
        guard !parameters.isEmpty else { return endpoint.queryItems }
        return parameters.sorted { $0.key < $1.key }.map { URLQueryItem(name: $0.key, value: $0.value) }
            + endpoint.queryItems
    }
}

extension URL {
    fileprivate func adding(_ items: [URLQueryItem]) -> URL {
        guard !items.isEmpty else { return self }
        let text = absoluteString
        let end = text.firstIndex(of: "#") ?? text.endIndex
        var start = String(text[..<end])
        if !start.hasSuffix("?") { start += start.contains("?") ? "&" : "?" }
        return URL(string: "\(start)\(QueryEncoder.queryString(items))\(text[end...])") ?? self
    }

    /// The URL without the default items that were added to it.
    fileprivate func removing(_ items: [URLQueryItem]) -> URL {
        let parts = absoluteString.split(separator: "?", maxSplits: 1)
        guard !items.isEmpty, parts.count == 2 else { return self }
        let added = Set(items.map { QueryEncoder.queryString([$0]) })
        let kept = parts[1].split(separator: "&", omittingEmptySubsequences: false)
            .filter { !added.contains(String($0)) }
        return URL(string: kept.isEmpty ? "\(parts[0])" : "\(parts[0])?\(kept.joined(separator: "&"))") ?? self
    }
}
