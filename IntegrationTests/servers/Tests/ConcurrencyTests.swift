// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// Requests beside and after one another: on one connection, beyond the limit of its streams, and when it ends.
@Suite(.servers, .timeLimit(.minutes(5)))
struct ConcurrencyTests {
    /// The server holds all requests until it has one more than a connection may have.
    @Test(arguments: Route.all)
    func requestsBeyondTheLimitOfStreamsArriveOnce(route: Route) async throws {
        let name = Route.newName()
        let opening = try route.request("/open/\(name)/\(route.streamLimit + 1)", method: "POST")
        try await withTransport(SocketTransport()) { control in
            async let opened = control.send(opening)
            try await withTransport(SocketTransport(maxConnectionsPerHost: 300)) { transport in
                // Then the limit is known.
                _ = try await transport.send(route.request("/none"))
                let responses = try await withThrowingTaskGroup(
                    of: PulseResponse.self, returning: [PulseResponse].self
                ) { group in
                    for id in 0..<300 {
                        let request = try route.request("/gate/\(name)?id=\(id)")
                        group.addTask { try await transport.send(request) }
                    }
                    return try await group.reduce(into: [PulseResponse]()) { $0.append($1) }
                }
                #expect(responses.allSatisfy { $0.statusCode == 200 && $0.text == "passed" })
                #expect(responses.allSatisfy { $0.timings?.networkProtocol == route.networkProtocol })
            }
            let open = try await opened
            #expect(open.text == "opened")
            let added = try await control.send(route.request("/added/\(name)"))
            let ids = added.text.split(separator: ",").compactMap { Int($0) }
            #expect(ids.sorted() == Array(0..<300))
        }
    }

    /// A POST has no key, so the client resends it only if the server has not processed it.
    @Test(arguments: Route.all)
    func eachPOSTArrivesOnceThoughConnectionsEnd(route: Route) async throws {
        let name = Route.newName()
        try await route.withClient(host: "short.localhost") { client in
            var (connections, unknown) = (0, Set<Int>())
            for id in 0..<200 {
                let response: PulseResponse
                do {
                    response = try await client.rawRequest(Post(path: "/add/\(name)", body: .text("\(id)")))
                } catch  where route.endsWithoutLastStream && PulseError(wrapping: error).phase == .maybeSent {
                    unknown.insert(id)
                    continue
                }
                #expect(response.text == "added")
                #expect(response.timings?.networkProtocol == route.networkProtocol)
                if response.timings?.isConnectionReused == false { connections += 1 }
            }
            let added: String = try await client.get("/added/\(name)")
            let ids = added.split(separator: ",").compactMap { Int($0) }
            #expect(ids.filter { !unknown.contains($0) } == (0..<200).filter { !unknown.contains($0) })
            #expect(Set(ids).count == ids.count)
            #expect(route.endsConnections ? connections >= 10 : connections == 1, "\(connections)")
        }
    }

    /// On the same connection over HTTP/2.
    @Test(arguments: Route.all)
    func aCancelledStreamLeavesTheOther(route: Route) async throws {
        let names = [Route.newName(), Route.newName()]
        try await withTransport(SocketTransport()) { transport in
            var streams: [PulseResponse] = []
            for name in names {
                streams.append(try await transport.send(route.request("/steps/\(name)") { $0.delivery = .streamed }))
            }
            #expect(streams[1].timings?.isConnectionReused == (route.version == .http2))
            streams[0].bytes?.cancel()
            for _ in 1...2 { _ = try await transport.send(route.request("/release/\(names[1])", method: "POST")) }
            let body = try await #require(streams[1].bytes).collect(upTo: 100)
            #expect(body == Data("onetwothree".utf8))
        }
    }

    /// Its header fields come after the responses to later requests.
    @Test(arguments: Route.all)
    func aLateResponseHoldsBackNoOther(route: Route) async throws {
        let name = Route.newName()
        let late = try route.request("/gate/\(name)")
        let expected = try Route.file("text")
        try await withTransport(SocketTransport()) { transport in
            async let response = transport.send(late)
            for _ in 1...20 {
                let other = try await transport.send(route.request("/files/text"))
                #expect(other.data == expected)
            }
            let opened = try await transport.send(route.request("/open/\(name)/1", method: "POST"))
            #expect(opened.text == "opened")
            let passed = try await response
            #expect(passed.text == "passed")
        }
    }
}
