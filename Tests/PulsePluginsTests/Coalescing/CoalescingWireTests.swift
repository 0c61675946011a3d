// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// Over real sockets: the server counts the requests.
@Suite(.tags(.threads), .throttled)
struct CoalescingWireTests {
    private struct Item: Endpoint {
        typealias Response = String

        var headers: [String: String] = [:]
        var path: String { "/item" }
    }

    private struct Stage {
        let server: MockServer
        let plugin = CoalescingPlugin()
        let client: PulseClient
        let gate = Gate()

        /// - Parameter status: of every response, whose body is the request's `Authorization`.
        init(_ server: MockServer, status: Int = 200) {
            self.server = server
            server.on(.get, "/item") { [gate] request in
                await gate.pass()
                return status == 200 ? .text(request.headers["Authorization"] ?? "") : .status(status)
            }
            client = ClientStage.client(of: server, plugins: [plugin])
        }

        /// Calls that have all joined a request when this returns, each with its own request id.
        func start(_ count: Int, _ headers: [String: String] = [:]) -> [Task<String, any Error>] {
            (0..<count).map { number in
                let headers = headers.merging(["X-Request-ID": "\(number)"]) { $1 }
                return Task.startingNow { try await client.request(Item(headers: headers)) }
            }
        }
    }

    @Test func aHundredEqualCallsSendOneRequest() async throws {
        try await MockServer.run { server in
            let stage = Stage(server)
            let calls = stage.start(100)
            #expect(stage.plugin.waiterCount == 100)
            stage.gate.open()
            for call in calls {
                let response = try await call.value
                #expect(response == "")
            }
            #expect(server.requests.count == 1)
            await stage.client.shutdown()
        }
    }

    @Test func theLastOfAHundredCallsSucceedsAfter99Cancellations() async throws {
        try await MockServer.run { server in
            let stage = Stage(server)
            let calls = stage.start(100)
            await stage.gate.arrivals(atLeast: 1)
            for call in calls.dropLast() { call.cancel() }
            for call in calls.dropLast() {
                let error = await #expect(throws: PulseError.self) { try await call.value }
                #expect(error?.kind == .cancelled)
            }
            stage.gate.open()
            let last = try await calls[99].value
            #expect(last == "")
            #expect(server.requests.count == 1)
            await stage.client.shutdown()
        }
    }

    @Test func aSharedFailureFailsAllCallsOnce() async throws {
        try await MockServer.run { server in
            let stage = Stage(server, status: 500)
            let calls = stage.start(100)
            stage.gate.open()
            for call in calls {
                let error = await #expect(throws: PulseError.self) { try await call.value }
                #expect(error?.statusCode == 500)
            }
            #expect(server.requests.count == 1)
            await stage.client.shutdown()
        }
    }

    @Test func callsWithDifferentCredentialsNeverShareARequest() async throws {
        try await MockServer.run { server in
            let stage = Stage(server)
            let calls = (0..<10).map { user in
                (user, stage.start(10, ["Authorization": "Bearer user-\(user)"]))
            }
            #expect(stage.plugin.waiterCount == 100)
            stage.gate.open()
            for (user, calls) in calls {
                for call in calls {
                    let response = try await call.value
                    #expect(response == "Bearer user-\(user)")
                }
            }
            #expect(server.requests.count == 10)
            await stage.client.shutdown()
        }
    }

    /// Each attempt gets the token of the user who is logged in at that moment.
    private struct UserHeader: PulsePlugin {
        let user: Locked<String>

        var identifier: String { "user" }

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            request.setValue("Bearer \(user.withLock { $0 })", forHTTPHeaderField: "Authorization")
        }
    }

    /// The number of requests for three concurrent signed calls, and the value that each response has for the header.
    private func signed(_ signing: RequestSigningPlugin, telling header: String) async throws -> (Int, [String]) {
        let (gate, plugin) = (Gate(), CoalescingPlugin())
        return try await ClientStage.run(plugins: [plugin, signing]) { client, server in
            server.on(.get, "/item") { request in
                await gate.pass()
                return .text(request.headers[header] ?? "")
            }
            let calls = (0..<3).map { _ in Task.startingNow { try await client.request(Item()) } }
            await gate.arrivals(atLeast: 1)
            #expect(plugin.waiterCount == 3)
            gate.open()
            var responses: [String] = []
            for call in calls { responses.append(try await call.value) }
            return (server.requests.count, responses)
        }
    }

    @Test func aSignatureInACustomHeaderIsNoCredential() async throws {
        let (count, responses) = try await signed(
            .signing(secret: "secret", signatureHeader: "X-Seal"), telling: "X-Seal")
        #expect(count == 1)
        #expect(responses.count == 3 && !responses.contains(""))
    }

    @Test func callsWithAUserKeyIDAreNotShared() async throws {
        let (count, responses) = try await signed(
            .signing(secret: "secret", keyID: "ada", keyIDNamesUser: true), telling: "X-Pulse-Key-ID")
        #expect(count == 3)
        #expect(responses == Array(repeating: "ada", count: 3))
    }

    private struct Said: Error, Decodable {
        let user: String
    }

    @Test(arguments: [200, 403], [false, true])
    func aCredentialSetByAnInnerPluginPreventsSharing(status: Int, isJudged: Bool) async throws {
        try await MockServer.run { server in
            let (user, gate, sink) = (Locked("ada"), Gate(), RecordingSink())
            server.on(.get, "/item") { request in
                await gate.pass()
                return .text(request.headers["Authorization"] ?? "", status: status)
            }
            let plugin = CoalescingPlugin()
            // The validator's own error hides whose response it was.
            let judge = ValidatorPlugin([
                Validator { _, response, _ in .fail(Said(user: String(decoding: response.data, as: UTF8.self))) }
            ])
            let client = ClientStage.client(
                of: server, plugins: [plugin, UserHeader(user: user)] + (isJudged ? [judge] : []),
                events: PulseEventBus(sink: sink))
            /// The body of the response, whether it is a success or a failure.
            @Sendable func response() async -> String {
                switch await client.result(of: Item()) {
                case .success(let text): text
                case .failure(.custom(let said as Said)): said.user
                case .failure(let error): String(decoding: error.response?.data ?? Data(), as: UTF8.self)
                }
            }
            let ada = Task.startingNow { await response() }
            await gate.arrivals(atLeast: 1)
            user.withLock { $0 = "bob" }
            let bobs = (0..<3).map { _ in Task.startingNow { await response() } }
            #expect(plugin.waiterCount == 4)
            gate.open()
            let adas = try await ada.value
            #expect(adas == "Bearer ada")
            for bob in bobs {
                let response = try await bob.value
                #expect(response == "Bearer bob")
            }
            #expect(sink.warnings.count == 1)
            await client.shutdown()
        }
    }
}
