// SPDX-License-Identifier: MIT

/// One call of an API as a value: where it goes, what it carries, and what comes back.
///
/// Only ``path`` and `Response` have to be given; everything else has a default. The client reads ``body`` once a call.
///
/// Mind the types: a `headers` property of another type than `[String: String]`, or a `decode` with another signature,
/// compiles as a member of its own and is never called.
public protocol Endpoint: Sendable {
    /// What a successful call gives.
    associatedtype Response: Sendable

    /// Percent-encoded text that is joined to the client's base URL; an absolute URL stands alone.
    ///
    /// A valid `%XX` stays, any other character outside RFC 3986's `pchar` and `/` is encoded, `?` starts a query; `#`
    /// and dot segments are ``PulseError/invalidURL(_:)``. Put raw values in through a ``PathTemplate``.
    var path: String { get throws }

    /// GET by default.
    var method: HTTPMethod { get }

    /// Raw names and values, encoded sorted by name so that URLs are stable.
    var queryParameters: [String: String] { get }

    /// Raw names and values in their order, repeatable; appended after ``queryParameters``.
    var queryItems: [URLQueryItem] { get }

    /// Win over the configuration's default headers; names compare in any case.
    var headers: [String: String] { get }

    /// None by default.
    var body: RequestBody { get }

    /// Seconds without a byte sent or received before the call fails; 0 takes the client's. A negative number is
    /// ``PulseError/invalidRequest(reason:)``.
    var timeoutInterval: TimeInterval { get }

    /// Whether a call without a connection goes to the offline queue, if the client has one.
    var isQueueableWhenOffline: Bool { get }

    /// Per-call settings; nil fields inherit the client's.
    var options: RequestOptions { get }

    /// Plugins of this endpoint alone; they come before the client's within their scope.
    var plugins: [any PulsePlugin] { get }

    /// Makes the value of an accepted answer. What it throws reaches the caller inside
    /// ``PulseError/decodingFailed(type:underlying:)``, a ``PulseError`` as it is.
    func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> Response
}

extension Endpoint {
    public var method: HTTPMethod { .get }
    public var queryParameters: [String: String] { [:] }
    public var queryItems: [URLQueryItem] { [] }
    public var headers: [String: String] { [:] }
    public var body: RequestBody { .none }
    public var timeoutInterval: TimeInterval { 0 }
    public var isQueueableWhenOffline: Bool { false }
    public var options: RequestOptions { RequestOptions() }
    public var plugins: [any PulsePlugin] { [] }
}

extension Endpoint where Response: Decodable {
    /// A ``ResponseValue`` (`Data`, `String`, ``EmptyResponse``, an optional) reads itself; anything else is decoded.
    @inlinable
    public func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> Response {
        if let type = Response.self as? any ResponseValue.Type,
            let value = try type.read(response, using: decoder) as? Response
        {
            return value
        }
        return try response.decode(Response.self, using: decoder)
    }
}
