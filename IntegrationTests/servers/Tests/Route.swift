// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// A server, and how it is spoken to.
struct Route: Sendable, CustomTestStringConvertible {
    enum Server: String, Sendable, CaseIterable {
        case go, apache, hummingbird
    }

    enum Version: String, Sendable, CaseIterable {
        /// Over TLS.
        case http2, http1
        /// HTTP/1.1 in cleartext.
        case plain
    }

    let server: Server
    let version: Version

    static let all = Server.allCases.flatMap { server in
        Version.allCases.map { Route(server: server, version: $0) }
    }

    /// Apache passes on the trailers of its application over HTTP/2 alone.
    static let withTrailers = all.filter { $0.server != .apache || $0.version == .http2 }

    /// swift-nio ends the connection over HTTP/2 instead of sending a head beyond 16 KiB, whoever asks.
    static let withLargeHeads = all.filter { $0.server != .hummingbird || $0.version != .http2 }

    var testDescription: String { "\(server), \(version)" }
    var networkProtocol: String { version == .http2 ? "h2" : "http/1.1" }

    /// The concurrent streams that the server allows on a connection: Go's default, a setting of Apache, and swift-nio's
    /// default.
    var streamLimit: Int {
        switch server {
        case .go: 250
        case .apache: 8
        case .hummingbird: 100
        }
    }

    /// Whether the server ends a connection to `short.localhost` after ten requests. Apache does so only over HTTP/1.1, and after
    /// eleven: it does not count the first.
    var endsConnections: Bool { server != .apache || version != .http2 }

    /// Whether the server may close a connection without naming the last request that it has processed, so that nobody knows of
    /// one that crosses the end. Hummingbird does so after a GOAWAY for all streams.
    var endsWithoutLastStream: Bool { server == .hummingbird && version == .http2 }

    private var httpVersions: PulseConfiguration.HTTPVersions { version == .http1 ? .http1 : .automatic }
    private var isSecure: Bool { version != .plain }
    private var name: String { "\(server.rawValue)_\(isSecure ? "tls" : "plain")" }

    /// A request that trusts the servers' authority and uses no proxy. Its timeouts leave a busy machine time for hundreds of
    /// handshakes.
    func request(
        _ path: String, method: String = "GET", host: String = "localhost",
        _ change: (inout TransportRequest) throws -> Void = { _ in }
    ) throws -> TransportRequest {
        let url = try LocalServers.url(of: name, isSecure: isSecure, host: host, path)
        var request = TransportRequest(
            urlRequest: URLRequest(url: url), connectTimeout: 60, idleTimeout: 120, tls: try LocalServers.tls(),
            proxy: .direct, httpVersions: httpVersions)
        request.urlRequest.httpMethod = method
        try change(&request)
        return request
    }

    /// Runs `body` with a client with the default retry policy.
    func withClient<Value>(
        host: String = "localhost", _ body: (PulseClient) async throws -> Value
    ) async throws -> Value {
        try await LocalServers.withClient(
            of: name, isSecure: isSecure, host: host, "", adjust: { $0.httpVersions = httpVersions }, body)
    }

    /// A name on a server that no other test has.
    static func newName() -> String { UUID().uuidString.lowercased() }

    /// A file that the servers have.
    static func file(_ name: String) throws -> Data {
        try #require(FileManager.default.contents(atPath: "\(LocalServers.directory)/files/\(name)"))
    }
}
