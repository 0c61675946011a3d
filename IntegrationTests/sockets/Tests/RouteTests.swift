// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// The ways to a server: TLS, proxies and pins.
@Suite(.servers, .timeLimit(.minutes(5)))
struct RouteTests {
    private static func expectEchoes(_ socket: PulseSocket, upTo limit: Int) async throws {
        for size in SocketMessage.sizes where size <= limit {
            try await socket.expectEcho(.sample(size, isText: true))
            try await socket.expectEcho(.sample(size, isText: false))
        }
        _ = try await socket.ping()
    }

    // MARK: nginx

    @Test(arguments: Library.allCases, Route.allCases.filter { $0 != .direct })
    func messagesOfEverySizeComeBackThroughNginx(library: Library, route: Route) async throws {
        let version: String? = [Route.tls12: "TLSv1.2", .tls13: "TLSv1.3"][route]
        try await SocketServers.withClient(of: library, by: route) { client in
            try await PulseSocket.with(
                Conversation(path: "/echo"), client,
                onOpen: { greeting in
                    #expect(greeting.response.headers["X-TLS"] == version)
                    #expect(greeting.response.timings?.networkProtocol == "http/1.1")
                }
            ) { try await Self.expectEchoes($0, upTo: 16 << 20) }
        }
    }

    // MARK: Proxies

    enum Proxy: String, Sendable, CaseIterable {
        case http = "proxy"
        case socks
        case lockedHTTP = "locked_proxy"
        case lockedSOCKS = "locked_socks"

        var isHTTP: Bool { self == .http || self == .lockedHTTP }
        var isLocked: Bool { self == .lockedHTTP || self == .lockedSOCKS }

        func settings(isAllowed: Bool = true) throws -> ProxySettings {
            let port = try LocalServers.port(rawValue)
            let settings =
                isHTTP ? ProxySettings.http(host: "127.0.0.1", port: port) : .socks5(host: "127.0.0.1", port: port)
            guard isLocked, isAllowed else { return settings }
            return settings.credentials(username: "us%41er", password: "pass:wo%2Frd%")
        }
    }

    /// No name below `pulse.test` can be resolved, so a socket that opens used its proxy.
    @Test(arguments: Proxy.allCases, [Route.plain] + Route.secure)
    func aProxyPassesTheSocketOn(proxy: Proxy, route: Route) async throws {
        let host = "\(SocketServers.newName()).pulse.test"
        try await SocketServers.withClient(of: .websockets, by: route, host: host) { configuration in
            configuration.proxy = try proxy.settings()
        } _: { client in
            let secret = SocketServers.newName()
            try await PulseSocket.with(Conversation(path: "/echo?\(secret)"), client) { socket in
                try await Self.expectEchoes(socket, upTo: 1 << 20)
            }
            let heads = try await Self.proxied(by: proxy, containing: host)
            let port = try LocalServers.port(route.rawValue)
            if proxy.isHTTP {
                // Also in cleartext by a tunnel, since a proxy need not know upgrades.
                #expect(heads.count == 1)
                #expect(heads.first?.hasPrefix("CONNECT \(host):\(port) HTTP/1.1\r\n") == true)
                #expect(heads.first?.contains(secret) == false)
                #expect(heads.first?.lowercased().contains("websocket") == false)
            } else {
                #expect(heads == ["3 \(host):\(port)"])
            }
        }
    }

    @Test(arguments: [Proxy.lockedHTTP, .lockedSOCKS], [Route.plain, .tls13])
    func aProxyThatRefusesIsTheError(proxy: Proxy, route: Route) async throws {
        let name = SocketServers.newName()
        try await SocketServers.withClient(of: .websockets, by: route, host: "\(name).pulse.test") { configuration in
            configuration.proxy = try proxy.settings(isAllowed: false)
        } _: { client in
            let socket = PulseSocket(endpoint: Conversation(path: "/echo"), client: client)
            let error = await #expect(throws: PulseError.self) { try await socket.connect() }
            guard case .proxyRefused(let refusal) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refusal.reason == (proxy.isHTTP ? .status(407) : .socksCredentials))
            #expect(error?.phase == .beforeSend)
        }
    }

    private struct Proxied: Decodable {
        let proxy: String
        let head: String
    }

    private static func control<Value: Decodable & Sendable>(_ path: String) async throws -> Value {
        try await LocalServers.withClient(of: "control", isSecure: false, host: "127.0.0.1", "") {
            try await $0.get(path)
        }
    }

    private static func proxied(by proxy: Proxy, containing text: String) async throws -> [String] {
        let all: [Proxied] = try await control("/proxied")
        return all.filter { $0.proxy == proxy.rawValue && $0.head.contains(text) }.map(\.head)
    }

    // MARK: Pins

    private static func pinning(_ name: String) throws -> SSLPinningPolicy {
        let pin = try #require(FileManager.default.contents(atPath: "\(LocalServers.directory)/\(name).pin"))
        let hash = String(decoding: pin, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return .publicKeyHashes(["sha256/\(hash)"])
    }

    @Test(arguments: ["server", "intermediate", "root"], Route.secure)
    func aPinOfAnyKeyOfTheChainLetsTheSocketOpen(key: String, route: Route) async throws {
        try await SocketServers.withClient(of: .websockets, by: route) { configuration in
            configuration.sslPinningPolicy = try Self.pinning(key)
        } _: { client in
            try await PulseSocket.with(Conversation(path: "/echo"), client) { try await $0.expectEcho(.text("hello")) }
        }
    }

    /// The server keeps every byte that it decrypts.
    @Test(arguments: [nil] + Proxy.allCases.map(Optional.some))
    func aWrongPinLetsNoByteOfTheHandshakeOut(proxy: Proxy?) async throws {
        for (key, isRight) in [("stranger", false), ("server", true)] {
            let name = SocketServers.newName()
            let host = proxy.map { _ in "\(name).pulse.test" } ?? "localhost"
            try await LocalServers.withClient(of: "recorder", isSecure: true, host: host, "") { configuration in
                configuration.sslPinningPolicy = try Self.pinning(key)
                configuration.retryPolicy = .none
                if let proxy { configuration.proxy = try proxy.settings() }
            } _: { client in
                let socket = PulseSocket(endpoint: Conversation(path: "/\(name)"), client: client)
                let error = await #expect(throws: PulseError.self) { try await socket.connect() }
                // Ends what the server waits for.
                await client.shutdown()
                let received: [String] = try await Self.control("/received")
                switch error {
                case .sslPinningFailed(host) where !isRight:
                    #expect(!received.contains { $0.contains(name) })
                    #expect(received.last == "")
                // It makes no upgrade.
                case .http where isRight:
                    #expect(received.last?.hasPrefix("GET /\(name) HTTP/1.1\r\n") == true)
                default: Issue.record("\(String(describing: error))")
                }
                guard case .idle = socket.state else {
                    Issue.record("\(socket.state)")
                    return
                }
            }
        }
    }

    // MARK: Key updates

    private struct Updates: Decodable {
        /// By the server, and by the client.
        let sent: Int, received: Int
    }

    /// RFC 8446, section 4.6.3: one server updates with each 16 KiB that it sends. The other requests an update of the
    /// client, too, which comes with the client's next bytes.
    @Test(arguments: ["updating", "requesting"], [SocketOptions.Compression.off, .offered])
    func keysAreUpdatedWhileBothSidesSend(server: String, compression: SocketOptions.Compression) async throws {
        let message = SocketMessage.sample(300_000, isText: false)
        let (roundCount, count) = (10, 8)
        let before: Updates = try await SocketServers.get("/updates/\(server)")
        try await LocalServers.withClient(of: server, isSecure: true, "") { client in
            let options = SocketOptions(reconnect: .never, compression: compression)
            try await PulseSocket.with(Conversation(path: "/echo", socketOptions: options), client) { socket in
                for _ in 0..<roundCount {
                    async let sent: Void = {
                        for _ in 0..<count { try await socket.send(message) }
                    }()
                    for _ in 0..<count {
                        let received = try await socket.receive()
                        try #require(received == message)
                    }
                    try await sent
                }
            }
        }
        let after: Updates = try await SocketServers.get("/updates/\(server)")
        let (sentCount, receivedCount) = (after.sent - before.sent, after.received - before.received)
        if server == "updating" {
            #expect(sentCount >= roundCount * count * message.size / 16_384)
            #expect(receivedCount == 0)
        } else {
            // At least one request comes with each round, and its update with the next.
            #expect(receivedCount >= roundCount - 1)
            #expect((receivedCount...receivedCount + 1).contains(sentCount))
        }
    }
}
