// SPDX-License-Identifier: MIT

/// One API call as a value: its target, its content, and its response type.
///
/// ```swift
/// struct GetUser: Endpoint {
///     typealias Response = User
///     let id: Int
///     var path: PathText { "/users/\(id)" }
/// }
/// ```
///
/// Only ``path`` and `Response` are required; everything else has a default. The client reads ``body`` once per call.
///
/// Check the types. A `headers` property of a type other than `[String: String]`, or a `decode` with another signature,
/// compiles as an unrelated member and is never called. In debug builds, the first call of each endpoint type warns
/// about every stored property that has the name of a requirement but another type, or a common wrong name, such as
/// `timeout` or `query`.
public protocol Endpoint: RequestOptions.WholeSecondTimeout, Sendable {
    /// The type of the value that a successful call returns.
    associatedtype Response: Sendable

    /// The type of ``path``, which the compiler infers: a ``PathText``, a `String`, a `URL` or a custom target.
    associatedtype PathValue: RequestTarget = String

    /// The path as percent-encoded text, joined to the client's base URL; an absolute URL is used as it is.
    ///
    /// As a ``PathText`` it takes raw values: `var path: PathText { "/users/\(id)" }`. Declare `var path: String` for
    /// text that is encoded already; interpolations are not encoded there.
    ///
    /// A valid `%XX` stays, and any other character outside RFC 3986's `pchar` and `/` is encoded. `?` starts a query;
    /// `#` and dot segments throw ``PulseError/invalidURL(_:)``.
    var path: PathValue { get throws }

    /// The request method; GET by default.
    var method: HTTPMethod { get }

    /// Query parameters as raw names and values, encoded and sorted by name so that URLs are stable. Empty by default.
    var queryParameters: [String: String] { get }

    /// Query items as raw names and values, appended after ``queryParameters`` in their order; names may repeat. Empty
    /// by default.
    var queryItems: [URLQueryItem] { get }

    /// Header fields of this endpoint. They override the configuration's default headers; names are case-insensitive.
    /// Empty by default.
    var headers: [String: String] { get }

    /// The body of the request; ``RequestBody/none`` by default.
    var body: RequestBody { get }

    /// The idle timeout: seconds without a byte sent or received before the call fails. 0, the default, uses the
    /// client's timeout; a negative number throws ``PulseError/invalidRequest(reason:)``. An `Int` property works as
    /// well.
    var timeoutInterval: TimeInterval { get }

    /// Whether a call without a connection goes to the offline queue, if the client has one. False by default.
    var isQueueableWhenOffline: Bool { get }

    /// Settings of the endpoint's calls; fields that are nil inherit the client's. Nothing is set by default.
    var options: RequestOptions { get }

    /// Plugins of this endpoint only, which come before the client's within their scope. Empty by default.
    var plugins: [any PulsePlugin] { get }

    /// Decodes the value from an accepted response.
    ///
    /// A thrown error is wrapped in ``PulseError/decodingFailed(type:underlying:)``; a ``PulseError`` is passed on
    /// unchanged.
    func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> Response
}

extension Endpoint {
    public var method: HTTPMethod { .get }
    public var queryParameters: [String: String] { [:] }
    public var queryItems: [URLQueryItem] { [] }
    public var headers: [String: String] { [:] }
    public var body: RequestBody { .none }
    public var timeoutInterval: TimeInterval { TimeInterval(wholeSeconds(of: self)) }
    public var isQueueableWhenOffline: Bool { false }
    public var options: RequestOptions { RequestOptions() }
    public var plugins: [any PulsePlugin] { [] }
}

extension Endpoint where Response: Decodable {
    /// Decodes the value. A ``ResponseValue`` (`Data`, `String`, ``EmptyResponse``, an optional) reads the response
    /// itself; any other type is decoded from the body.
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
