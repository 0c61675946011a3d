// SPDX-License-Identifier: MIT

/// A ready-made endpoint, for calls too small for a type of their own:
/// `Request<User>(.get, "/users/{id}", path: ["id": id]).query("expand", "team")`.
public struct Request<Response: Decodable & Sendable>: Endpoint {
    private let template: PathTemplate
    private let values: [String: any CustomStringConvertible & Sendable]

    public private(set) var method: HTTPMethod
    public private(set) var queryItems: [URLQueryItem] = []
    public private(set) var headers: [String: String] = [:]
    public private(set) var body: RequestBody = .none
    public private(set) var isQueueableWhenOffline = false
    public private(set) var plugins: [any PulsePlugin] = []
    private var settings = RequestOptions()

    /// - Parameter template: a path, or a template such as `/users/{id}` whose values `path` gives; each value is
    ///   encoded as one segment. A missing or unused value is ``PulseError/invalidRequest(reason:)`` when it is sent.
    public init(
        _ method: HTTPMethod, _ template: PathTemplate,
        path values: [String: any CustomStringConvertible & Sendable] = [:]
    ) {
        self.method = method
        self.template = template
        self.values = values
    }

    /// A GET: `Request<[User]>("/users")`.
    public init(_ template: PathTemplate, path values: [String: any CustomStringConvertible & Sendable] = [:]) {
        self.init(.get, template, path: values)
    }

    public var path: String {
        get throws { try template.expand(values) }
    }

    /// The template's path counts as the route, so that metrics do not see a route for each user. What else a template
    /// may have, scheme, authority, query and fragment, is left out: the route is in every event, and no event holds a
    /// query or a secret.
    public var options: RequestOptions {
        settings.route == nil ? settings.with(\.route, value: template.route) : settings
    }

    /// Appends a query item; nil leaves it out.
    public func query(_ name: String, _ value: (any CustomStringConvertible & Sendable)?) -> Request {
        guard let value else { return self }
        return changed { $0.queryItems.append(URLQueryItem(name: name, value: value.description)) }
    }

    /// Appends query items in their order.
    public func query(_ items: [URLQueryItem]) -> Request {
        changed { $0.queryItems += items }
    }

    /// Sets a header field, over one of that name in any case.
    public func header(_ name: String, _ value: String) -> Request {
        changed { $0.headers.setHeader(name, to: value) }
    }

    public func body(_ body: RequestBody) -> Request {
        changed { $0.body = body }
    }

    /// Idle seconds: without a byte sent or received.
    public func timeout(_ seconds: TimeInterval) -> Request {
        option(\.timeout, seconds)
    }

    /// Sets one option: `.option(\.tag, "feed")`.
    public func option<Value>(_ field: WritableKeyPath<RequestOptions, Value>, _ value: Value) -> Request {
        changed { $0.settings[keyPath: field] = value }
    }

    /// Goes to the offline queue without a connection, if the client has one.
    public func queueableWhenOffline() -> Request {
        changed { $0.isQueueableWhenOffline = true }
    }

    /// Adds a plugin for this request alone.
    public func plugin(_ plugin: any PulsePlugin) -> Request {
        changed { $0.plugins.append(plugin) }
    }

    private func changed(_ change: (inout Request) -> Void) -> Request {
        var copy = self
        change(&copy)
        return copy
    }
}

extension Request: CustomStringConvertible, CustomReflectable {
    /// Method and the template's path; none of the values that are put in, no query, no header, no body.
    public var description: String { "\(method) \(template.route)" }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
