// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// The outcome of a request that an HTTP/2 server refuses, or whose connection ends, and its number of arrivals.
@Suite(.servers, .timeLimit(.minutes(5)))
struct HTTP2LossTests {
    private struct Arrival: Decodable {
        let method: String
        let name: String
        let connection: Int
        let `protocol`: String
    }

    private static func arrivals(_ name: String) async throws -> [Arrival] {
        let all: [Arrival] = try await Servers.told("/arrivals")
        return all.filter { $0.name == name }
    }

    private static func request(_ actions: String, _ name: String, method: String = "GET") throws -> TransportRequest {
        try .to(Servers.url(.multiplexed, "/\(actions)/\(name)")) {
            $0.urlRequest.httpMethod = method
            if method == "POST" { $0.body = .bytes(Data("body".utf8)) }
            $0.mayBeResent = method == "GET"
        }
    }

    // MARK: The transport

    struct Loss: Sendable {
        let actions: String
        let phase: PulseError.Phase
        /// Whether the connection counts as stale: if it was made for the request, and if it was used before.
        let onNew: Bool
        let onReused: Bool

        init(_ actions: String, _ phase: PulseError.Phase, _ onNew: Bool, _ onReused: Bool) {
            (self.actions, self.phase, self.onNew, self.onReused) = (actions, phase, onNew, onReused)
        }
    }

    @Test(
        arguments: ["GET", "POST"],
        [
            Loss("refused", .beforeSend, true, true), Loss("away", .beforeSend, true, true),
            Loss("away,close", .beforeSend, true, true), Loss("downgrade", .beforeSend, true, true),
            Loss("close", .maybeSent, false, true), Loss("cut", .maybeSent, false, true),
            Loss("reset", .maybeSent, false, true), Loss("failed", .maybeSent, false, false),
            Loss("head,pause,failed", .responseStarted, false, false),
            Loss("head,pause,refused", .responseStarted, false, false),
            Loss("head,pause,away,close", .responseStarted, false, false),
            Loss("head,pause,close", .responseStarted, false, false),
            Loss("head,pause,reset", .responseStarted, false, false),
        ])
    func aLostRequestArrivesOnceAndReportsItsPhase(method: String, loss: Loss) async throws {
        for isReused in [false, true] {
            let name = UUID().uuidString
            try await withTransport { transport in
                if isReused { _ = try await transport.send(Self.request("answer", "warm")) }
                let failure = await #expect(throws: TransportFailure.self) {
                    try await transport.send(Self.request(loss.actions, name, method: method))
                }
                let told: Comment = "reused: \(isReused), \(String(describing: failure))"
                #expect(failure?.code == .networkConnectionLost, told)
                #expect(failure?.phase == loss.phase, told)
                #expect(failure?.isStaleConnection == (isReused ? loss.onReused : loss.onNew), told)
                let arrivals = try await Self.arrivals(name)
                #expect(arrivals.map(\.method) == [method])
                // It keeps serving, over another connection if necessary.
                let later = try await transport.send(Self.request("answer", "after"))
                #expect(later.statusCode == 200)
            }
        }
    }

    @Test(arguments: ["GET", "POST"], [false, true])
    func aMalformedFrameIsAProtocolError(method: String, isReused: Bool) async throws {
        let name = UUID().uuidString
        try await withTransport { transport in
            if isReused { _ = try await transport.send(Self.request("answer", "warm")) }
            let failure = await #expect(throws: TransportFailure.self) {
                try await transport.send(Self.request("malformed", name, method: method))
            }
            #expect(failure?.code == .badServerResponse && failure?.phase == .maybeSent)
            #expect(failure?.isStaleConnection == false)
        }
        let arrivals = try await Self.arrivals(name)
        #expect(arrivals.count == 1)
    }

    @Test func aServerThatRequiresHTTP1GetsItFromTheNextRequestOn() async throws {
        let name = UUID().uuidString
        try await withTransport { transport in
            _ = try await transport.send(Self.request("answer", "warm"))
            await #expect(throws: TransportFailure.self) {
                try await transport.send(Self.request("downgrade", name, method: "POST"))
            }
            let later = try await transport.send(Self.request("downgrade", name, method: "POST"))
            #expect(later.timings?.networkProtocol == "http/1.1")
        }
        let arrivals = try await Self.arrivals(name)
        #expect(arrivals.map(\.protocol) == ["h2", "http/1.1"])
    }

    // MARK: The client

    private struct Call: Endpoint {
        typealias Response = String
        let path: String
        let method: HTTPMethod
        var body: RequestBody { method == .get ? .none : .text("body") }
    }

    private static func result(
        of call: Call, _ policy: RetryPolicy, events: PulseEventBus = PulseEventBus()
    ) async throws -> Result<String, PulseError> {
        var configuration = PulseConfiguration(baseURL: try Servers.url(.multiplexed, ""))
        configuration.tls = try Servers.tls()
        configuration.proxy = .direct
        configuration.retryPolicy = policy
        let ready = configuration
        return try await withTransport { transport in
            let client = PulseClient(configuration: ready, transport: transport, events: events)
            _ = try await client.request(Call(path: "/answer/warm", method: .get))
            return await client.result(of: call)
        }
    }

    /// The server's count by policy and method; a POST has no key.
    @Test(
        arguments: [
            ("refused", HTTPMethod.get, RetryPolicy.default, 2), ("refused", .post, .default, 2),
            ("away,close", .post, .default, 2), ("downgrade", .post, .default, 2),
            ("refused", .post, .never, 1), ("away", .post, .never, 1), ("downgrade", .get, .never, 1),
            ("close", .get, .default, 2), ("close", .post, .default, 1), ("close", .get, .never, 1),
            ("reset", .get, .default, 2), ("failed", .post, .default, 1),
        ] as [(String, HTTPMethod, RetryPolicy, Int)])
    func theRetryLoopResendsUnprocessedRequests(
        actions: String, method: HTTPMethod, policy: RetryPolicy, count: Int
    ) async throws {
        let name = UUID().uuidString
        let (bus, recorder) = (PulseEventBus(), Recorder())
        bus.addSink(recorder)
        let result = try await Self.result(of: Call(path: "/\(actions)/\(name)", method: method), policy, events: bus)
        let arrivals = try await Self.arrivals(name)
        #expect(arrivals.count == count)
        #expect(((try? result.get()) != nil) == (count == 2), "\(result)")
        // One for the call that opened the connection.
        #expect(recorder.attempts == 1 + count)
    }

    /// One immediate resend after each attempt of the policy.
    @Test func retriesToAServerThatRefusesEveryRequestEnd() async throws {
        let name = UUID().uuidString
        let policy = RetryPolicy(maxAttempts: 2, backoffStrategy: .immediate)
        let call = Call(path: "/refused/\(name)?times=99", method: .post)
        let result = try await Self.result(of: call, policy)
        #expect(throws: PulseError.self) { try result.get() }
        let arrivals = try await Self.arrivals(name)
        #expect(arrivals.count == 4)
    }
}
