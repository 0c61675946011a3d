// SPDX-License-Identifier: MIT

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

    private struct Description: Decodable {
        let directory: String
        let ports: [String: Int]
    }

    private static let servers = ProcessInfo.processInfo.environment["PULSEKIT_WIRE"].map { path in
        let data = FileManager.default.contents(atPath: path) ?? Data()
        do {
            return try JSONDecoder().decode(Description.self, from: data)
        } catch {
            preconditionFailure("\(path): \(error)")
        }
    }

    /// False if the tests were not started by `run`.
    static var areServed: Bool { servers != nil }

    /// Runs `body` with a client whose base URL is the route's.
    func withClient<Value>(_ body: (PulseClient) async throws -> Value) async throws -> Value {
        let servers = try #require(Self.servers)
        let port = try #require(servers.ports[scheme.rawValue])
        let isSecure = scheme == .tls || scheme == .tlsWithHTTP1
        var configuration = PulseConfiguration(
            baseURL: try #require(URL(string: "\(isSecure ? "https" : "http")://localhost:\(port)\(location)")))
        let authority = try #require(FileManager.default.contents(atPath: "\(servers.directory)/root.pem"))
        configuration.tls = TLSSettings(certificateAuthorities: [authority])
        configuration.proxy = .direct
        let client = PulseClient(configuration: configuration)
        do {
            let value = try await body(client)
            await client.shutdown()
            return value
        } catch {
            await client.shutdown()
            throw error
        }
    }

    var networkProtocol: String { scheme == .tls ? "h2" : "http/1.1" }
}

extension Trait where Self == ConditionTrait {
    static var servers: Self { .enabled(if: Route.areServed) }
}
