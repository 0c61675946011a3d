// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseSockets
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls

/// The check of an endpoint's stored properties, which debug builds have.
@Suite(.throttled)
struct EndpointCheckTests {
    private struct Wrong: Endpoint {
        typealias Response = Data
        let path = "/a"
        let headers: HTTPHeaders = ["X-A": "1"]
        let method = "POST"
    }

    private struct Scoped: PulsePlugin {
        let identifier = "scoped"
        let scope = "call"
    }

    #if DEBUG
    @Test func theFirstCallOfAnEndpointTypeWarnsOfEachUnusedMember() async throws {
        for _ in 0..<2 {
            let stage = ClientStage()
            for _ in 0..<3 { _ = try await stage.client.request(Wrong()) }
            #expect(stage.sink.warnings.count == 2)
            let headers = try #require(stage.sink.warnings.first { $0.contains("Wrong.headers") })
            #expect(headers.contains("HTTPHeaders") && headers.contains("[String: String]"))
            let method = try #require(stage.sink.warnings.first { $0.contains("Wrong.method") })
            #expect(method.contains("String") && method.contains("HTTPMethod"))
        }
    }

    @Test func aLikelyNameIsWarnedOfWithTheRightOne() async throws {
        struct Misnamed: Endpoint {
            typealias Response = Data
            let path = "/a"
            let timeout = 1
        }
        let stage = ClientStage()
        for _ in 0..<2 { try await stage.client.request(Misnamed()) }
        #expect(stage.sink.warnings.map { $0.contains("Misnamed.timeout") && $0.contains("timeoutInterval") } == [true])
    }

    @Test func aSocketEndpointIsCheckedAtItsFirstHandshake() async throws {
        struct Feed: SocketEndpoint {
            let path = "/feed"
            let query = ["room": "1"]
            let headers: HTTPHeaders = ["X-A": "1"]
            let pingInterval = 20
            let subprotocols = ["a"]
        }
        let stage = ClientStage()
        let socket = PulseSocket(endpoint: Feed(), client: stage.client)
        for _ in 0..<2 { await #expect(throws: PulseError.self) { try await socket.connect() } }
        let found = stage.sink.warnings.filter { $0.contains("Feed.") }
        #expect(found.count == 2)
        #expect(found.contains { $0.contains("Feed.query") && $0.contains("SocketEndpoint") })
        #expect(found.contains { $0.contains("Feed.headers") && $0.contains("[String: String]") })
    }

    @Test func aVerbIsNoEndpointWithWrongNames() async throws {
        let stage = ClientStage()
        let none: String? = nil
        _ = try await stage.client.get("/a", query: ["a": none], as: Data.self, timeout: 5)
        #expect(stage.sink.warnings.isEmpty)
    }

    @Test func anUnusedMemberIsLoggedOncePerType() {
        struct Logged: Endpoint {
            typealias Response = Data
            let path = "/a"
            let body = "text"
        }
        let lines = Locked<[String]>([])
        let check = EndpointCheck(CallEnvironment()) { line in lines.withLock { $0.append(line) } }
        for _ in 0..<3 { check.check(Logged()) }
        EndpointCheck(CallEnvironment()) { line in lines.withLock { $0.append(line) } }.check(Logged())
        #expect(lines.withLock { $0.map { $0.contains("Logged.body") } } == [true])
    }

    @Test func aSeparatorInAValueOfALiteralIsWarnedOfOncePerClient() async throws {
        for _ in 0..<2 {
            let stage = ClientStage()
            for value in ["c", "a/b", "d?e"] {
                _ = try await stage.client.get("/separated/\(value)", as: Data.self)
                _ = try await stage.client.request(Request<Data>(.get, "/separated/\(value)"))
            }
            let warning = try #require(stage.sink.warnings.first)
            #expect(stage.sink.warnings.count == 1)
            #expect(warning.contains("/separated/{id}") && !warning.contains("a/b"))
            #expect(stage.requests.count == 6)
        }
    }

    @Test func aDeliberateEndpointIsNotWarnedOf() async throws {
        struct GetBranch: Endpoint {
            typealias Response = Data
            let name: String
            var path: PathText { "/branches/\(name)" }
        }
        let stage = ClientStage()
        _ = try await stage.client.request(GetBranch(name: "feature/x"))
        #expect(stage.sink.warnings.isEmpty)
    }

    @Test func pluginsAreCheckedWhenTheClientIsCreated() {
        let stage = ClientStage(plugins: [Scoped()])
        #expect(stage.sink.warnings.map { $0.contains("Scoped.scope") && $0.contains("PluginScope") } == [true])
    }
    #else
    @Test func releaseBuildsDoNotCheck() async throws {
        let stage = ClientStage(plugins: [Scoped()])
        _ = try await stage.client.request(Wrong())
        #expect(stage.sink.warnings.isEmpty)
    }
    #endif

    @Test func aCorrectEndpointCausesNoWarning() async throws {
        let stage = ClientStage()
        _ = try await stage.client.request(GetUser())
        #expect(stage.sink.warnings.isEmpty)
    }
}
