// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import Foundation
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// Upgrades that reach their server through something else: a proxy, or a unix-domain socket.
@Suite(.tags(.threads, .addresses), .throttled)
struct UpgradeRouteWireTests {
    private static func request(
        _ text: String, _ proxy: ProxySettings = .environment, tls: TLSSettings = .default
    ) throws -> TransportRequest {
        var urlRequest = URLRequest(url: try #require(URL(string: text)))
        urlRequest.allHTTPHeaderFields = UpgradeStage.offer
        return TransportRequest(
            urlRequest: urlRequest, delivery: .upgrade, connectTimeout: 600, idleTimeout: 600, tls: tls, proxy: proxy)
    }

    private static func echoes(_ response: PulseResponse) async throws {
        #expect(response.statusCode == 101)
        let connection = try #require(response.connection)
        for size in [1, 100_000] {
            let bytes = Data.pattern(size)
            try await connection.write(bytes)
            #expect(try await connection.read(count: size).isSame(as: bytes))
        }
        connection.close()
    }

    /// Without a tunnel, a proxy would forward the request and drop its hop-by-hop fields.
    @Test(arguments: [false, true])
    func anHTTPProxyMakesATunnelAlsoInCleartext(isSecure: Bool) async throws {
        try await MockServer.run(over: isSecure) { server, tls in
            server.fallback { _ in .echo }
            try await MockServer.run { proxy in
                let port = server.port
                proxy.fallback { _ in .upgrade(status: 200, headers: [:]) { try await $0.relay(to: port) } }
                let transport = SocketTransport()
                let settings = ProxySettings.http(host: "127.0.0.1", port: proxy.port)
                    .credentials(username: "ada", password: "hunter2")
                let address = "\(isSecure ? "https" : "http")://127.0.0.1:\(port)/chat?room=1"
                try await Self.echoes(try await transport.send(Self.request(address, settings, tls: tls)))
                let tunnel = try #require(proxy.requests.first)
                #expect(tunnel.method.rawValue == "CONNECT" && tunnel.target == "127.0.0.1:\(port)")
                #expect(tunnel.headers["Upgrade"] == nil)
                #expect(tunnel.headers["Proxy-Authorization"]?.hasPrefix("Basic ") == true)
                let request = try #require(server.requests.first)
                #expect(request.target == "/chat?room=1" && request.headers["Host"] == "127.0.0.1:\(port)")
                #expect(request.headers["Upgrade"] == "echo" && request.headers["Proxy-Authorization"] == nil)
                await transport.shutdown()
            }
        }
    }

    @Test(arguments: [false, true])
    func aSOCKSProxyIsUsed(isSecure: Bool) async throws {
        try await MockServer.run(over: isSecure) { server, tls in
            server.fallback { _ in .echo }
            try await MockServer.run { proxy in
                let port = server.port
                proxy.onAccept { _ in
                    MockServer.Step.conversing { conversation in
                        _ = try await conversation.receive()
                        try await conversation.send(Data([5, 0]))
                        _ = try await conversation.receive()
                        try await conversation.send(Data([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
                        try await conversation.relay(to: port)
                    }
                }
                let transport = SocketTransport()
                let settings = ProxySettings.socks5(host: "127.0.0.1", port: proxy.port)
                let address = "\(isSecure ? "https" : "http")://127.0.0.1:\(port)/"
                try await Self.echoes(try await transport.send(Self.request(address, settings, tls: tls)))
                await transport.shutdown()
            }
        }
    }

    @Test(arguments: ["http", "https"])
    func aRefusalByTheProxyIsNamed(scheme: String) async throws {
        try await MockServer.run { proxy in
            proxy.fallback { _ in .text("no", status: 403) }
            let transport = SocketTransport()
            let request = try Self.request("\(scheme)://pulse.test/", .http(host: "127.0.0.1", port: proxy.port))
            let error = await #expect(throws: PulseError.self) { try await transport.send(request) }
            guard case .proxyRefused(let refusal) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refusal == PulseError.ProxyRefusal(proxy: "127.0.0.1:\(proxy.port)", reason: .status(403)))
            await transport.shutdown()
        }
    }

    @Test func aSilentProxyRunsIntoTheConnectTimeout() async throws {
        try await MockServer.run { proxy in
            proxy.onAccept { _ in [.stall] }
            let clock = TestClock()
            let transport = SocketTransport(64, clock: clock)
            var request = try Self.request("http://pulse.test/", .http(host: "127.0.0.1", port: proxy.port))
            request.connectTimeout = 3
            let call = Task { [request] in try await transport.send(request) }
            await clock.sleepers(atLeast: 1, for: .timeout)
            try await proxy.wait { $0.openConnectionCount == 1 }
            await clock.advance(by: 3)
            let failure = await #expect(throws: TransportFailure.self) { try await call.value }
            #expect(failure?.code == .timedOut && failure?.phase == .beforeSend)
            await transport.shutdown()
        }
    }

    @Test func aCancellationWhileTheProxyIsSilentClosesTheConnection() async throws {
        try await MockServer.run { proxy in
            proxy.fallback { _ in .raw([.stall]) }
            let transport = SocketTransport()
            let request = try Self.request("http://pulse.test/", .http(host: "127.0.0.1", port: proxy.port))
            let call = Task { try await transport.send(request) }
            try await proxy.requests(atLeast: 1)
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            try await proxy.wait { $0.openConnectionCount == 0 }
            await transport.shutdown()
        }
    }

    @Test func aUnixSocketIsUsed() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).sock").path
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Data(path.utf8)) }
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && listen(listener, 1) == 0
            }
        }
        try #require(isBound)
        defer {
            close(listener)
            unlink(path)
        }
        let transport = SocketTransport(unixSocketPath: path)
        let call = Task { try await transport.send(Self.request("http://pulse.test/a")) }
        let accepted = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: accept(listener, nil, nil)) }
        }
        let loop = try SocketLoop()
        let server = try loop.connection(SocketChannel(accepted), remoteAddress: nil)
        var head = Data()
        while head.suffix(4) != Data("\r\n\r\n".utf8), let bytes = try await server.read() { head.append(bytes) }
        #expect(String(decoding: head, as: UTF8.self).hasPrefix("GET /a HTTP/1.1\r\nHost: pulse.test\r\n"))
        try await server.write(Data("HTTP/1.1 101 Switching Protocols\r\n\r\nfirst".utf8))
        let connection = try #require(try await call.value.connection)
        #expect(try await connection.read() == Data("first".utf8))
        try await connection.write(Data("second".utf8))
        connection.finishWriting()
        #expect(try await server.read(count: .max) == Data("second".utf8))
        try await server.write(Data("third".utf8))
        server.close()
        #expect(try await connection.read(count: .max) == Data("third".utf8))
        await transport.shutdown()
        await loop.shutdown()
    }

    @Test(arguments: [false, true])
    func userInformationBecomesBasicCredentials(hasOthers: Bool) async throws {
        try await MockServer.run { server in
            server.fallback { _ in .echo }
            let transport = SocketTransport(4)
            var request = try Self.request("http://ada:l%40ce@127.0.0.1:\(server.port)/")
            if hasOthers { request.urlRequest.setValue("Own", forHTTPHeaderField: "Authorization") }
            try await Self.echoes(try await transport.send(request))
            let expected = hasOthers ? "Own" : "Basic " + Data("ada:l@ce".utf8).base64EncodedString()
            #expect(server.requests.first?.headers.filter { $0.name == "Authorization" }.map(\.value) == [expected])
            await transport.shutdown()
        }
    }

    @Test(
        arguments: [
            ("https://a.test:443/b?c#d", "https://a.test:443/b?c#d", "https://a.test:443/", nil),
            ("wss://A.test", "https://A.test", "https://A.test/", nil),
            ("ws://a:b%3Ac@h:81/", "http://h:81/", "http://h:81/", "a:b:c"),
            ("http://a@h?@x", "http://h?@x", "http://h/", "a:"), ("http://@h/", "http://h/", "http://h/", nil),
            ("http://[fe80::1%25eth0]:8/", "http://[fe80::1]:8/", "http://[fe80::1%25eth0]:8/", nil),
            ("http://%61.test/%61", "http://a.test/%61", "http://%61.test/", nil),
        ] as [(String, String, String, String?)])
    func aURLIsTakenApart(address: String, text: String, server: String, credentials: String?) throws {
        let url = try #require(URL(string: address))
        let parts = RequestTarget(url, try #require(Origin(url)))
        #expect(parts.text == text && parts.server == server)
        #expect(parts.credentials == credentials.map { Data($0.utf8).base64EncodedString() })
        #expect(parts.isSecure == (server.hasPrefix("https")))
    }

    @Test func aHostThatHTTPCannotNameIsRefused() async throws {
        let transport = SocketTransport()
        let request = try Self.request("http://a%2Fb.test/")
        await #expect {
            try await transport.send(request)
        } throws: {
            PulseError(wrapping: $0).kind == .invalidURL
        }
        await transport.shutdown()
    }
}

extension MockServer.Conversation {
    /// Passes the bytes to and from another server, as a tunnel does.
    fileprivate func relay(to port: Int) async throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        try #require(isConnected)
        let loop = try SocketLoop()
        let far = try loop.connection(SocketChannel(descriptor), remoteAddress: nil)
        await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while let bytes = try await receive() { try await far.write(bytes) }
                far.close()
            }
            group.addTask {
                while let bytes = try await far.read() { try await send(bytes) }
            }
            // One direction ends the tunnel.
            try? await group.next()
            far.close()
            group.cancelAll()
        }
        await loop.shutdown()
    }
}
#endif
