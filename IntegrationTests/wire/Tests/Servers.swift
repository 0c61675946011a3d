// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// The servers that `serve.py` has started, and the certificates that they present.
enum Servers {
    private struct Description: Decodable {
        let directory: String
        let ports: [String: Int]
        let canReplaceSystemTrust: Bool
    }

    enum Name: String {
        /// nginx.
        case plain, tls, tls12
        case tlsWithHTTP1 = "tls_http1"
        /// OpenSSL's; the last two require a client certificate with TLS 1.3 and TLS 1.2.
        case tickets, client13, client12
        /// nghttp2's.
        case nghttpd
        /// Those of `peers.py`.
        case control, recorder, refuser, proxy, socks
        case plainRefuser = "plain_refuser"
        case lockedProxy = "locked_proxy"
        case lockedSocks = "locked_socks"
        case hangingProxy = "hanging_proxy"
        /// An HTTP/2 server that ends requests as a test requires.
        case multiplexed
        /// A port without a listener.
        case refusing
    }

    private static let description = ProcessInfo.processInfo.environment["PULSEKIT_WIRE"].map { path in
        let data = FileManager.default.contents(atPath: path) ?? Data()
        do {
            return try JSONDecoder().decode(Description.self, from: data)
        } catch {
            preconditionFailure("\(path): \(error)")
        }
    }

    /// False if the tests were not started by `run`.
    static var areRunning: Bool { description != nil }

    /// Whether a process can get another `/etc/ssl/certs`.
    static var canReplaceSystemTrust: Bool { description?.canReplaceSystemTrust ?? false }

    static func path(_ name: String) -> String { (description?.directory ?? "") + "/" + name }

    static func port(_ name: Name) -> Int { description?.ports[name.rawValue] ?? 0 }

    static func url(_ name: Name, host: String = "localhost", _ path: String = "/") throws -> URL {
        let scheme = [.plain, .control, .plainRefuser].contains(name) ? "http" : "https"
        return try #require(URL(string: "\(scheme)://\(host):\(port(name))\(path)"))
    }

    static func data(_ name: String) throws -> Data {
        try #require(FileManager.default.contents(atPath: path(name)), "\(name) is missing")
    }

    /// The pin of the key of a certificate.
    static func pin(_ name: String) throws -> String {
        "sha256/"
            + String(decoding: try data(name + ".pin"), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The pins of the verified chain of most servers.
    static func chain() throws -> [String] {
        try ["server", "intermediate", "root"].map(pin)
    }

    /// The versions of HTTP of each request: `run` performs the tests of TLS once more with HTTP/1.1 alone.
    static let versions: PulseConfiguration.HTTPVersions =
        ProcessInfo.processInfo.environment["PULSEKIT_WIRE_HTTP1"] == nil ? .automatic : .http1

    /// Trust in the authority of these servers.
    static func tls() throws -> TLSSettings {
        TLSSettings(certificateAuthorities: [try data("root.pem")])
    }

    /// The response of `control`.
    static func told<Value: Decodable>(_ path: String) async throws -> Value {
        let transport = SocketTransport()
        let request = TransportRequest(
            urlRequest: URLRequest(url: try url(.control, host: "127.0.0.1", path)), proxy: .direct)
        let response = try await transport.send(request)
        await transport.shutdown()
        return try JSONDecoder().decode(Value.self, from: response.data)
    }

    /// A request that a proxy received.
    struct Proxied: Decodable {
        let proxy: String
        let head: String
    }

    static func proxied(_ name: Name, containing text: String) async throws -> [String] {
        let all: [Proxied] = try await told("/proxied")
        return all.filter { $0.proxy == name.rawValue && $0.head.contains(text) }.map(\.head)
    }
}

extension Trait where Self == ConditionTrait {
    static var servers: Self { .enabled(if: Servers.areRunning) }
}

extension TransportRequest {
    /// A request that trusts the servers' authority and uses no proxy.
    static func to(
        _ url: URL, _ change: (inout TransportRequest) throws -> Void = { _ in }
    ) throws -> TransportRequest {
        var request = TransportRequest(
            urlRequest: URLRequest(url: url), tls: try Servers.tls(), proxy: .direct, httpVersions: Servers.versions)
        try change(&request)
        return request
    }
}

extension SSLPinningPolicy.PinSet {
    /// The pins of those certificates' keys.
    static func keys(_ names: String...) throws -> SSLPinningPolicy.PinSet {
        SSLPinningPolicy.PinSet(publicKeyHashes: Set(try names.map(Servers.pin)))
    }
}

extension PulseResponse {
    /// nginx's number of the request's connection.
    var connection: String? { headers["X-Connection"] }
}

/// Runs `body` with a client that trusts the servers' authority by default, and retries nothing.
func withClient<Value>(
    tls: TLSSettings? = nil, pinning: SSLPinningPolicy = .disabled, baseURL: URL? = nil,
    events: PulseEventBus = PulseEventBus(), _ body: (PulseClient) async throws -> Value
) async throws -> Value {
    var configuration = PulseConfiguration().with(\.baseURL, value: baseURL)
        .with(\.httpVersions, value: Servers.versions)
    configuration.tls = try tls ?? Servers.tls()
    configuration.sslPinningPolicy = pinning
    configuration.proxy = .direct
    configuration.retryPolicy = .none
    let ready = configuration
    return try await withTransport { transport in
        try await body(PulseClient(configuration: ready, transport: transport, events: events))
    }
}

/// Keeps all events.
final class Recorder: EventSink {
    private let lock = NSLock()
    // Unchecked: accessed only under the lock.
    nonisolated(unsafe) private var recorded: [NetworkEvent] = []

    var isActive: Bool { true }
    func emit(_ event: NetworkEvent) { lock.withLock { recorded.append(event) } }

    /// The number of reported attempts.
    var attempts: Int {
        lock.withLock { recorded }.count { if case .attemptStarted = $0 { true } else { false } }
    }

    /// The hosts and keys of all failed pins.
    var unpinned: [(host: String, seen: [String])] {
        lock.withLock { recorded }.compactMap {
            if case .pinningFailed(let host, let seen) = $0 { (host, seen) } else { nil }
        }
    }
}
