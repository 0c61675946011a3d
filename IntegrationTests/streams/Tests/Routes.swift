// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// A way to a server, as `servers.py` has started them.
struct Route: Sendable, CustomTestStringConvertible {
    enum Scheme: String, Sendable {
        case plain, tls
        case tlsWithHTTP1 = "tls_http1"
        /// Without nginx.
        case starlette, aiohttp
    }

    let scheme: Scheme
    /// The location of nginx, or nothing.
    let location: String

    var testDescription: String { "\(scheme)\(location)" }

    /// The ways on which an event arrives as soon as it was sent.
    static let immediate =
        [Route(scheme: .starlette, location: "")]
        + [Scheme.plain, .tls, .tlsWithHTTP1].flatMap { scheme in
            ["/passed", "/compressed"].map { Route(scheme: scheme, location: $0) }
        }
    static let all =
        immediate + [Scheme.plain, .tls, .tlsWithHTTP1].map { Route(scheme: $0, location: "/buffered") }
    /// The ways to the server that sends single bytes.
    static let single =
        [Route(scheme: .aiohttp, location: "")]
        + [Scheme.plain, .tls, .tlsWithHTTP1].map { Route(scheme: $0, location: "/single") }

    /// Runs `body` with a client whose base URL is the route's.
    func withClient<Value>(_ body: (PulseClient) async throws -> Value) async throws -> Value {
        try await LocalServers.withClient(
            of: scheme.rawValue, isSecure: scheme == .tls || scheme == .tlsWithHTTP1, location, body)
    }

    var networkProtocol: String { scheme == .tls ? "h2" : "http/1.1" }
}
