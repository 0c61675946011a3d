// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

/// Every error of a call, by a realistic cause, and no text of any shows a secret.
///
/// Tested elsewhere: `graphQL`, `socketClosed`, `cacheMiss`, `sessionExpired` and `sslPinningFailed`.
@Suite(.throttled)
struct EveryErrorTests {
    private static let excluded: Set<PulseError.Kind> = [
        .graphQL, .socketClosed, .cacheMiss, .sessionExpired, .sslPinningFailed,
    ]

    /// Used wherever an app or a server may put a credential.
    private static let secret = "hunter2"

    @Test func theTableHasEveryError() {
        #expect(Set(Cause.all.map(\.kind)) == Set(PulseError.Kind.allCases).subtracting(Self.excluded))
    }

    @Test(arguments: Cause.all + Cause.streams)
    func eachErrorHasARealCauseAndShowsNoSecret(cause: Cause) async throws {
        let server = try await MockServer.start()
        let result = try await cause.provoke(server)
        await server.shutdown()
        guard case .failure(let error) = result else {
            Issue.record("\(cause.kind): no error")
            return
        }
        #expect(error.kind == cause.kind, "\(error)")
        var dumped = ""
        dump(error, to: &dumped)
        let texts = [
            error.description, error.debugDescription, String(reflecting: error), "\([error])", dumped,
            error.localizedDescription, (error as NSError).description,
        ]
        for text in texts {
            #expect(!text.contains(Self.secret), "\(cause.kind): \(text)")
            #expect(!text.isEmpty)
        }
    }
}

private struct User: Codable, Sendable {
    let id: Int
}

private struct Login: Encodable, Sendable {
    var password = "hunter2"
    var weight = 1.0
}

/// A way to make a call fail with an error of that kind.
struct Cause: Sendable, CustomTestStringConvertible {
    typealias Outcome = Result<Void, PulseError>

    let kind: PulseError.Kind
    let provoke: @Sendable (MockServer) async throws -> Outcome

    var testDescription: String { kind.rawValue }

    private static let secretHeaders = ["Authorization": "Bearer hunter2", "X-API-Key": "hunter2"]

    private static func login(
        _ method: HTTPMethod = .post, _ path: PathTemplate = "/login", _ body: RequestBody = .json(Login())
    ) -> Request<User> {
        Request<User>(method, path).query("access_token", "hunter2").body(body)
    }

    /// Sends a login full of secrets to the server.
    private static func call(
        _ server: MockServer, _ endpoint: Request<User> = login(), headers: [String: String] = secretHeaders,
        options: RequestOptions = RequestOptions(), plugins: [any PulsePlugin] = [],
        transport: (any Transport)? = nil, clock: any PulseClock = .system, retry: RetryPolicy = .none,
        whileRunning: @Sendable (PulseClient) -> Void = { _ in }
    ) async -> Outcome {
        let client = ClientStage.client(
            of: server, plugins: plugins, retry: retry, clock: clock, over: transport,
            with: { $0.defaultHeaders = headers })
        whileRunning(client)
        let result = await client.result(of: endpoint, options: options)
        await client.shutdown()
        return result.map { _ in }
    }

    /// The server's response to the login, with secrets in its header and body.
    private static func respond(
        _ server: MockServer, _ status: Int, _ body: String = #"{"password":"hunter2"}"#,
        options: RequestOptions = RequestOptions(), retry: RetryPolicy = .none
    ) async -> Outcome {
        server.on(.post, "/login") { _ in
            .data(
                Data(body.utf8), contentType: "application/json", status: status,
                headers: ["Set-Cookie": "session=hunter2", "Retry-After": "0"])
        }
        return await call(server, options: options, retry: retry)
    }

    private struct LoginLater: Endpoint {
        typealias Response = EmptyResponse

        let path = "/login?access_token=hunter2"
        let method = HTTPMethod.post
        var body: RequestBody { .json(Login()) }
        let isQueueableWhenOffline = true
    }

    /// A call without a connection, and a queue of that size.
    private static func queue(_ server: MockServer, size: Int) async -> Outcome {
        let client = ClientStage.client(
            of: server, over: MockTransport { _ in throw URLError(.notConnectedToInternet) },
            with: {
                $0.connectivity = .manual()
                $0.offlineQueuePolicy = OfflineQueuePolicy(maxQueueSize: size, persistsToDisk: false)
            })
        let result = await client.result(of: LoginLater())
        await client.shutdown()
        return result.map { _ in }
    }

    static let all: [Cause] = [
        Cause(kind: .queuedOffline) { await queue($0, size: 1) },
        Cause(kind: .offlineQueueFull) { await queue($0, size: 0) },
        Cause(kind: .invalidURL) { await call($0, login(.get, "/login#access_token=hunter2", .none)) },
        Cause(kind: .invalidRequest) { await call($0, headers: ["X-API-Key": "hunter2\r\nX-Forged: 1"]) },
        Cause(kind: .encodingFailed) { await call($0, login(.post, "/login", .json(Login(weight: .nan)))) },
        Cause(kind: .unsupported) { await call($0, login(.get), transport: URLSessionTransport()) },
        Cause(kind: .noConnection) {
            // A socket test cannot take the machine off the network.
            let offline = MockTransport { request in
                throw URLError(.notConnectedToInternet, userInfo: ["NSErrorFailingURLKey": request.url as Any])
            }
            return await call($0, transport: offline)
        },
        Cause(kind: .proxyRefused) { server in
            server.fallback { _ in .text("hunter2", status: 407) }
            let proxy = ProxySettings.http(host: "127.0.0.1", port: server.port)
            let configuration = PulseConfiguration(baseURL: try #require(URL(string: "https://pulse.test")))
                .with(\.proxy, value: proxy.credentials(username: "ada", password: "hunter2"))
                .with(\.defaultHeaders, value: secretHeaders)
            let client = PulseClient(configuration: configuration, events: PulseEventBus())
            let result = await client.result(of: login())
            await client.shutdown()
            return result.map { _ in }
        },
        Cause(kind: .timeout) {
            $0.on(.post, "/login") { _ in .raw([.stall]) }
            return await call($0, options: RequestOptions().with(\.timeout, value: 0.2))
        },
        Cause(kind: .transport) {
            $0.on(.post, "/login") { _ in .raw([.reset]) }
            return await call($0)
        },
        Cause(kind: .cancelled) { server in
            await call(server) { client in
                server.on(.post, "/login") { _ in
                    client.cancelAll()
                    return .raw([.stall])
                }
            }
        },
        Cause(kind: .deadlineExceeded) { server in
            let clock = TestClock()
            server.on(.put, "/login") { _ in
                guard server.requests.count > 1 else { return .text("password=hunter2", status: 503) }
                await clock.sleepers(atLeast: 1, for: .deadline)
                await clock.advance(by: 5)
                return .raw([.stall])
            }
            return await call(
                server, login(.put), options: RequestOptions().with(\.deadline, value: 5), clock: clock,
                retry: .immediate())
        },
        Cause(kind: .unauthorized) { await respond($0, 401) },
        Cause(kind: .rateLimited) { await respond($0, 429) },
        Cause(kind: .http) { await respond($0, 500) },
        Cause(kind: .decodingFailed) { await respond($0, 200, #"{"id":"hunter2"}"#) },
        Cause(kind: .emptyBody) { await respond($0, 200, "") },
        Cause(kind: .responseTooLarge) {
            await respond($0, 200, options: RequestOptions().with(\.maxBufferedBodySize, value: 4))
        },
        Cause(kind: .retryExhausted) {
            var policy = RetryPolicy.immediate(2)
            policy.reportsExhaustion = true
            policy.retriesUnsafeMethods = true
            return await respond($0, 503, retry: policy)
        },
        Cause(kind: .circuitOpen) { server in
            let breaker = CircuitBreakerPlugin(failureThreshold: 1)
            server.on(.post, "/login") { _ in .text("password=hunter2", status: 503) }
            _ = await call(server, plugins: [breaker])
            return await call(server, plugins: [breaker])
        },
        Cause(kind: .custom) { await call($0, plugins: [Failing()]) },
    ]
}

extension Cause {
    /// The ends of streams.
    static let streams: [Cause] = [
        // A page in place of the events.
        Cause(kind: .transport) { server in
            server.on(.get, "/feed") { _ in .text("password=hunter2", headers: ["Set-Cookie": "session=hunter2"]) }
            return await read(server) { $0.serverSentEvents("/feed?access_token=hunter2") }
        },
        // The end before the sentinel.
        Cause(kind: .transport) { server in
            server.onEvents("/feed") { _, feed in try await feed.send(ServerSentEvent(data: "password=hunter2")) }
            let options = EventStream.Options().with(\.sentinel, value: "[DONE]").with(\.reconnect, value: .never)
            return await read(server) { $0.serverSentEvents("/feed?access_token=hunter2", stream: options) }
        },
        // A response that is cut.
        Cause(kind: .transport) { server in
            server.on(.get, "/lines") { _ in .text("password=hunter2\npassword").truncated(after: 20) }
            return await read(server) { $0.lines("/lines?access_token=hunter2") }
        },
        Cause(kind: .responseTooLarge) { server in
            server.on(.get, "/lines") { _ in .text("password=hunter2") }
            return await read(server) { $0.lines("/lines?access_token=hunter2").limited(toLineLength: 4) }
        },
        Cause(kind: .decodingFailed) { server in
            server.on(.get, "/lines") { _ in .text(#"{"id":"hunter2"}"#) }
            return await read(server) { $0.jsonLines("/lines?access_token=hunter2", of: User.self) }
        },
        Cause(kind: .decodingFailed) { server in
            server.on(.get, "/feed") { _ in .events([ServerSentEvent(data: #"{"id":"hunter2"}"#)]) }
            return await read(server) { $0.serverSentEvents("/feed?access_token=hunter2").decoded(as: User.self) }
        },
        // The server's own word for the end of a half response.
        Cause(kind: .custom) { server in
            server.on(.get, "/feed") { _ in .events([ServerSentEvent(type: "error", data: "password=hunter2")]) }
            return await read(server) { $0.serverSentEvents("/feed?access_token=hunter2").decoded(as: User.self) }
        },
        Cause(kind: .unauthorized) { server in
            server.on(.get, "/feed") { _ in .text("password=hunter2", status: 401) }
            return await read(server) { $0.serverSentEvents("/feed?access_token=hunter2") }
        },
        Cause(kind: .invalidRequest) { server in
            await read(server) {
                $0.serverSentEvents("/feed", stream: .init().with(\.lastEventID, value: "hunter2\r\n"))
            }
        },
        // A list whose next page is the first one.
        Cause(kind: .transport) { server in
            server.on(.get, "/users") { _ in
                .text(#"{"id":1}"#, headers: ["Link": "</users?access_token=hunter2>; rel=next"])
            }
            return await read(server) { $0.pages(linkedFrom: Request<User>("/users").query("access_token", "hunter2")) }
        },
    ]

    private static func read<Stream: AsyncSequence>(
        _ server: MockServer, _ stream: (PulseClient) -> Stream
    ) async -> Outcome {
        let client = ClientStage.client(of: server, with: { $0.defaultHeaders = secretHeaders })
        var outcome = Outcome.success(())
        do {
            for try await _ in stream(client) {}
        } catch {
            outcome = .failure(PulseError(wrapping: error))
        }
        await client.shutdown()
        return outcome
    }
}

/// A third-party plugin with its own error.
private struct Failing: PulsePlugin {
    struct Refusal: Error {
        let password = "hunter2"
        let reason = "Authorization: Bearer hunter2"
    }

    let identifier = "com.example.failing"

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        throw Refusal()
    }
}
