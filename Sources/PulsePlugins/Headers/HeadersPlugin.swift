// SPDX-License-Identifier: MIT

public import PulseCore

/// Sets header fields on every call, over those that the request already has.
///
/// Once a call (and redirect hop), outside the retry loop. A secret among them goes to the client's home origins only.
public struct HeadersPlugin: PulsePlugin {
    private let headers: @Sendable (PluginContext) async throws -> [String: String]

    public var identifier: String { "com.pulse.headers" }
    public var scope: PluginScope { .call }

    public init(_ headers: [String: String]) {
        self.headers = { _ in headers }
    }

    /// Fields of the same name are joined with a comma, as RFC 9110, section 5.3 allows.
    public init(_ headers: HTTPHeaders) {
        self.init(headers.dictionary)
    }

    /// Fields that are asked for at each call: a locale, a device id that takes I/O to find. What it throws fails the call.
    public init(_ headers: @escaping @Sendable (PluginContext) async throws -> [String: String]) {
        self.headers = headers
    }

    public func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        for (name, value) in try await headers(context) {
            request.setValue(value, forHTTPHeaderField: name)
        }
    }
}

extension PulsePlugin where Self == HeadersPlugin {
    /// ``HeadersPlugin/init(_:)-([String:String])``
    public static func headers(_ headers: [String: String]) -> HeadersPlugin {
        HeadersPlugin(headers)
    }

    /// Fields that are asked for at each call.
    public static func headers(
        _ headers: @escaping @Sendable (PluginContext) async throws -> [String: String]
    ) -> HeadersPlugin {
        HeadersPlugin(headers)
    }
}
