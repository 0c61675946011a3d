// SPDX-License-Identifier: MIT

/// A ready-made endpoint, for calls too small for a type of their own:
/// `Request<User>(.get, "/users/\(id)").query("expand", "team")`.
public struct Request<Response: Decodable & Sendable>: Endpoint {
    private let target: PathText
    private let values: [String: any CustomStringConvertible & Sendable]

    /// The request method.
    public private(set) var method: HTTPMethod
    /// Query items in the order in which they were added.
    public private(set) var queryItems: [URLQueryItem] = []
    /// Header fields of this request.
    public private(set) var headers: [String: String] = [:]
    /// The body; ``RequestBody/none`` unless ``body(_:)`` sets one.
    public private(set) var body: RequestBody = .none
    /// Whether the call goes to the offline queue if there is no connection; false unless ``queueableWhenOffline()`` is
    /// called.
    public private(set) var isQueueableWhenOffline = false
    /// Plugins of this request only, in the order in which they were added.
    public private(set) var plugins: [any PulsePlugin] = []
    private var settings = RequestOptions()

    /// Creates a request with any method.
    ///
    /// - Parameter target: the path. A literal takes values as interpolations, `"/users/\(id)"`, or has placeholders
    ///   for those of `path`, `"/users/{id}"`. Each value is encoded as one segment or a part of one. A refused,
    ///   missing or unused value throws ``PulseError/invalidRequest(reason:)`` when the request is sent.
    public init(
        _ method: HTTPMethod, _ target: PathText,
        path values: [String: any CustomStringConvertible & Sendable] = [:]
    ) {
        self.method = method
        self.target = target
        self.values = values
    }

    // Disfavored, so that a literal is a `PathText`: its interpolations are encoded, its placeholders are checked.
    /// Creates a request with any method to a `String`, a `URL`, a ``PathTemplate``, or a custom target.
    ///
    /// A string is used as it is: percent-encoded path text that may carry a query, or an absolute URL. It is parsed as
    /// a template if `path` has values for it.
    @_disfavoredOverload
    public init(
        _ method: HTTPMethod, _ target: some RequestTarget,
        path values: [String: any CustomStringConvertible & Sendable] = [:]
    ) {
        self.init(method, target.requestPath, path: values)
    }

    /// Creates a GET request: `Request<[User]>("/users")`.
    public init(_ target: PathText, path values: [String: any CustomStringConvertible & Sendable] = [:]) {
        self.init(.get, target, path: values)
    }

    /// Creates a GET request to a `String`, a `URL`, a ``PathTemplate``, or a custom target.
    @_disfavoredOverload
    public init(_ target: some RequestTarget, path values: [String: any CustomStringConvertible & Sendable] = [:]) {
        self.init(.get, target.requestPath, path: values)
    }

    /// The path with its values filled in; throws as ``PathText/text`` and ``PathTemplate/expand(_:)`` do.
    public var path: PathText {
        get throws { try target.filled(with: values) }
    }

    /// The settings of this request. Unless a route was set, the method and the path are the route, with a placeholder
    /// for each value, so that metrics do not get one route per user. In a path without values or placeholders, `{id}`
    /// replaces segments that look like values.
    ///
    /// The route omits the target's scheme, authority, query and fragment: it is part of every event, and no event
    /// holds a query or a secret.
    public var options: RequestOptions {
        settings.route == nil
            ? settings.with(\.route, value: target.route(method, hasValues: !values.isEmpty)) : settings
    }

    /// Returns a copy with one more query item; a nil value adds nothing.
    public func query(_ name: String, _ value: (any CustomStringConvertible & Sendable)?) -> Request {
        guard let value else { return self }
        return changed { $0.queryItems.append(URLQueryItem(name: name, value: value.description)) }
    }

    /// Returns a copy with more query items, in their order.
    public func query(_ items: [URLQueryItem]) -> Request {
        changed { $0.queryItems += items }
    }

    /// Returns a copy with a header field set. It replaces a field of that name, compared case-insensitively.
    public func header(_ name: String, _ value: String) -> Request {
        changed { $0.headers.setHeader(name, to: value) }
    }

    /// Returns a copy with a body.
    public func body(_ body: RequestBody) -> Request {
        changed { $0.body = body }
    }

    /// Returns a copy with an idle timeout: seconds without a byte sent or received.
    public func timeout(_ seconds: TimeInterval) -> Request {
        option(\.timeout, seconds)
    }

    /// Returns a copy with a deadline: seconds for the whole call, with all redirects, attempts and waits.
    public func deadline(_ seconds: TimeInterval) -> Request {
        option(\.deadline, seconds)
    }

    /// Returns a copy with a retry policy, which overrides the client's and any retry plugin: `.retry(.never)`.
    public func retry(_ policy: RetryPolicy) -> Request {
        option(\.retry, policy)
    }

    /// Returns a copy with a cache mode: `.cache(.reload)`.
    public func cache(_ use: RequestOptions.Cache) -> Request {
        option(\.cache, use)
    }

    /// Returns a copy with one option set: `.option(\.tag, "feed")`.
    public func option<Value>(_ field: WritableKeyPath<RequestOptions, Value>, _ value: Value) -> Request {
        changed { $0.settings[keyPath: field] = value }
    }

    /// Returns a copy that goes to the offline queue if there is no connection and the client has a queue.
    public func queueableWhenOffline() -> Request {
        changed { $0.isQueueableWhenOffline = true }
    }

    /// Returns a copy with one more plugin, for this request only.
    public func plugin(_ plugin: any PulsePlugin) -> Request {
        changed { $0.plugins.append(plugin) }
    }

    private func changed(_ change: (inout Request) -> Void) -> Request {
        var copy = self
        change(&copy)
        return copy
    }
}

extension Request: LiteralPathCarrying {
    package var pathWarning: String? { target.warning }
}

extension Request: CustomStringConvertible, CustomReflectable {
    /// The method and the path, without the inserted values, the query, the headers or the body.
    public var description: String { "\(method) \(target.shown)" }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
