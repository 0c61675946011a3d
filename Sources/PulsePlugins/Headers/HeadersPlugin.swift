// SPDX-License-Identifier: MIT

public import PulseCore

/// Sets header fields on every call, replacing those that the request already has.
///
/// ```swift
/// let headers = HeadersPlugin(["X-App-Version": "1.2", "Accept-Language": "en"])
/// let client = PulseClient(configuration: configuration, plugins: [headers])
/// ```
///
/// It runs once for each call and redirect hop, outside the retry loop. A secret field is sent to the client's home
/// origins only; if the client has none, only with the first hop of each call. A field that cannot be sent (a name that
/// is not a token, a value with a control character other than a tab) fails the call before it is sent, with
/// ``PulseError/invalidRequest(reason:)``.
public struct HeadersPlugin: PulsePlugin {
    private enum Source: Sendable {
        case constant([(name: String, value: String?)])
        case closure(@Sendable (PluginContext) async throws -> [String: String])
    }

    private let source: Source

    public var identifier: String { "com.pulse.headers" }
    public var scope: PluginScope { .call }

    /// Sets the same fields on every call.
    public init(_ headers: [String: String]) {
        source = .constant(Self.fields(headers))
    }

    /// Sets the same fields on every call. Fields of the same name are joined with a comma, as RFC 9110, section 5.3
    /// allows.
    public init(_ headers: HTTPHeaders) {
        self.init(headers.dictionary)
    }

    /// Sets fields from a closure that runs for each call, for example a locale, or a device id that takes I/O to read.
    /// An error that it throws fails the call. Called concurrently.
    public init(_ headers: @escaping @Sendable (PluginContext) async throws -> [String: String]) {
        source = .closure(headers)
    }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        var request = request
        switch source {
        case .constant(let fields): request.setHeaders(fields)
        case .closure(let headers): request.setHeaders(Self.fields(try await headers(context)))
        }
        return try await next(request)
    }

    private static func fields(_ headers: [String: String]) -> [(name: String, value: String?)] {
        headers.map { (name: $0.key, value: $0.value) }
    }
}

extension HeadersPlugin: HookDeclaring {
    package var asksTheAppForFields: Bool {
        switch source {
        case .constant: false
        case .closure: true
        }
    }
}

extension HeadersPlugin: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The names of the fields, without their values.
    public var description: String {
        switch source {
        case .constant(let fields): "HeadersPlugin(\(fields.map(\.name).sorted().joined(separator: ", ")))"
        case .closure: "HeadersPlugin"
        }
    }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension PulsePlugin where Self == HeadersPlugin {
    /// A ``HeadersPlugin`` with the same fields for every call.
    public static func headers(_ headers: [String: String]) -> HeadersPlugin {
        HeadersPlugin(headers)
    }

    /// A ``HeadersPlugin`` with fields from a closure that runs for each call.
    public static func headers(
        _ headers: @escaping @Sendable (PluginContext) async throws -> [String: String]
    ) -> HeadersPlugin {
        HeadersPlugin(headers)
    }
}
