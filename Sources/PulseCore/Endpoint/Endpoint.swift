// SPDX-License-Identifier: MIT

/// One call of an API as a value: where it goes, what it carries, and what comes back.
///
/// Only ``path`` and `Response` have to be given; everything else has a default. The client reads ``body`` once per
/// call.
///
/// Mind the types: a `headers` property of another type than `[String: String]`, or a `decode` with another signature,
/// compiles as a member of its own and is never called. In debug builds the first call of each type of endpoint warns
/// of every stored property with the name of a requirement and another type.
public protocol Endpoint: WholeSecondTimeout, Sendable {
    /// The type of the value that a successful call returns.
    associatedtype Response: Sendable

    /// The path as percent-encoded text, joined to the client's base URL; an absolute URL is used as it is.
    ///
    /// A valid `%XX` stays and any other character outside RFC 3986's `pchar` and `/` is encoded. `?` starts a query;
    /// `#` and dot segments throw ``PulseError/invalidURL(_:)``. Put raw values in with ``Swift/String/init(path:)``.
    var path: String { get throws }

    /// The request method; GET by default.
    var method: HTTPMethod { get }

    /// Query parameters as raw names and values, encoded and sorted by name so that URLs are stable. Empty by default.
    var queryParameters: [String: String] { get }

    /// Query items as raw names and values, appended after ``queryParameters`` in their order; names may repeat. Empty
    /// by default.
    var queryItems: [URLQueryItem] { get }

    /// Header fields of this endpoint. They win over the configuration's default headers; names compare in any case.
    /// Empty by default.
    var headers: [String: String] { get }

    /// The body of the request; ``RequestBody/none`` by default.
    var body: RequestBody { get }

    /// The idle timeout: seconds without a byte sent or received before the call fails. 0, the default, takes the
    /// client's timeout; a negative number throws ``PulseError/invalidRequest(reason:)``. An `Int` does as well.
    var timeoutInterval: TimeInterval { get }

    /// Whether a call without a connection goes to the offline queue, if the client has one. False by default.
    var isQueueableWhenOffline: Bool { get }

    /// Settings of the endpoint's calls; fields that are nil inherit the client's. Nothing is set by default.
    var options: RequestOptions { get }

    /// Plugins of this endpoint alone, which come before the client's within their scope. Empty by default.
    var plugins: [any PulsePlugin] { get }

    /// Makes the value out of an accepted answer.
    ///
    /// An error that it throws reaches the caller inside ``PulseError/decodingFailed(type:underlying:)``; a
    /// ``PulseError`` reaches the caller as it is.
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
    /// Decodes the value. A ``ResponseValue`` (`Data`, `String`, ``EmptyResponse``, an optional) reads itself; any
    /// other type is decoded from the body.
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
