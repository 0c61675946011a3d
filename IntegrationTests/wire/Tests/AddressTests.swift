// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

@Suite(.servers, .timeLimit(.minutes(5)))
struct AddressTests {
    @Test(arguments: [Servers.Name.plain, .tls])
    func reachesAnIPv6Address(server: Servers.Name) async throws {
        let url = try Servers.url(server, host: "[::1]")
        let response = try await withTransport { try await $0.send(.to(url)) }
        #expect(response.text == "GET /")
        #expect(response.timings?.remoteAddress == "::1")
        #expect(response.headers["X-Host"] == "[::1]:\(Servers.port(server))")
    }

    @Test
    func reachesAnIPv4Address() async throws {
        let url = try Servers.url(.tls, host: "127.0.0.1")
        let response = try await withTransport { try await $0.send(.to(url)) }
        #expect(response.timings?.remoteAddress == "127.0.0.1")
    }

    @Test
    func reachesASocketOfTheFileSystem() async throws {
        let url = try #require(URL(string: "http://nowhere.test/path"))
        let transport = SocketTransport(unixSocketPath: Servers.path("nginx.socket"))
        let response = try await withTransport(transport) { try await $0.send(.to(url)) }
        #expect(response.text == "GET /path")
        #expect(response.headers["X-Host"] == "nowhere.test")
    }

    /// Surplus bytes of a server are no response there either.
    @Test
    func aConnectionWithUnsolicitedBytesIsNotReused() async throws {
        let url = try #require(URL(string: "http://nowhere.test/path"))
        try await withTransport(SocketTransport(unixSocketPath: Servers.path("chatty.socket"))) { transport in
            for reuses in [false, true, false] {
                let response = try await transport.send(.to(url))
                #expect(response.statusCode == 200)
                #expect(response.text == "asked")
                #expect(response.timings?.isConnectionReused == reuses)
                if reuses { let _: [Int?] = try await Servers.told("/surplus") }
            }
        }
    }

    @Test
    func reportsAMissingSocket() async throws {
        let url = try #require(URL(string: "http://nowhere.test/path"))
        let error = await #expect(throws: TransportFailure.self) {
            try await withTransport(SocketTransport(unixSocketPath: Servers.path("missing.socket"))) {
                try await $0.send(.to(url))
            }
        }
        #expect(error?.code == .cannotConnectToHost)
        #expect(error?.phase == .beforeSend)
    }

    /// The certificate names the ASCII form of the host.
    @Test(arguments: [Servers.Name.plain, .tls])
    func sendsAnInternationalNameInItsASCIIForm(server: Servers.Name) async throws {
        let url = try Servers.url(server, host: "b\u{FC}cher.localhost")
        let response = try await withTransport { try await $0.send(.to(url)) }
        #expect(response.headers["X-Host"] == "xn--bcher-kva.localhost:\(Servers.port(server))")
        let base = try #require(URL(string: "/", relativeTo: url))
        let status = try await withClient(baseURL: base) {
            try await $0.rawRequest(Request<Data>(.get, "/")).statusCode
        }
        #expect(status == 200)
    }
}
