// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

// Programs in the spelling in which people have written them. A change of PulseKit must not need a change here.

struct User: Codable, Sendable, Identifiable, Equatable {
    let id: Int
    let name: String
}

// MARK: Endpoints

struct GetUsers: Endpoint {
    typealias Response = [User]

    var path: String { "/users" }
    var method: HTTPMethod { .get }
    var queryParameters: [String: String] { ["page": "1"] }
    var headers: [String: String] { ["X-Screen": "users"] }
    var timeoutInterval: TimeInterval { 15 }
}

struct CreateUser: Endpoint {
    typealias Response = User

    let user: User

    var path: String { "/users" }
    var method: HTTPMethod { .post }
    var body: RequestBody { .json(user) }
    var isQueueableWhenOffline: Bool { true }
}

struct Login: Endpoint {
    typealias Response = EmptyResponse

    let name: String

    var path: String { "/login" }
    var method: HTTPMethod { .post }
    var body: RequestBody { .formURLEncoded(["user": name]) }
}

struct UploadAvatar: Endpoint {
    typealias Response = EmptyResponse

    let image: Data

    var path: String { "/avatar" }
    var method: HTTPMethod { .post }
    var body: RequestBody {
        .multipart(
            MultipartFormData(parts: [
                MultipartFormData.Part(name: "avatar", data: image, filename: "me.png", mimeType: "image/png")
            ]))
    }
}

struct SearchUsers: Endpoint {
    typealias Response = EmptyResponse

    var path: String { "/graphql" }
    var method: HTTPMethod { .post }
    var body: RequestBody { .graphQL(query: "{ users { id } }", variables: nil) }
}

// MARK: Clients

func makeConfiguration(_ url: URL) -> PulseConfiguration {
    PulseConfiguration(baseURL: url)
        .with(\.timeout, value: 20)
        .with(
            \.retryPolicy,
            value: RetryPolicy(
                maxAttempts: 3, backoffStrategy: .immediate, retryableStatusCodes: [502, 503], retryOnTimeout: true,
                retryOnNoConnection: false)
        )
        .with(\.logLevel, value: .none)
        .with(\.defaultHeaders, value: ["X-App-Version": "1.2"])
        .with(\.offlineQueuePolicy, value: .disabled)
}

func makeStrictConfiguration(_ url: URL) -> PulseConfiguration {
    PulseConfiguration(baseURL: url)
        .with(\.logLevel, value: .debug)
        .with(
            \.offlineQueuePolicy,
            value: OfflineQueuePolicy(isEnabled: true, maxQueueSize: 50, persistsToDisk: true, requestExpiry: 86400)
        )
        .with(
            \.sslPinningPolicy,
            value: .publicKeyHashes(["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]))
}

func makePlugins(_ session: Session, _ cache: CachePlugin) -> [any PulsePlugin] {
    [
        AuthPlugin(tokenProvider: session),
        LoggerPlugin(options: .init(verbosity: .minimal, sensitiveHeaders: ["X-Session"])),
        LoggerPlugin(options: LoggerPlugin.Options(verbosity: .verbose, maxBodyLength: 1000, output: { print($0) })),
        RetryPlugin(maxAttempts: 3),
        cache,
        CircuitBreakerPlugin(failureThreshold: 5, cooldownDuration: 30),
        RequestSigningPlugin(secret: "known to both sides", signatureHeader: "X-Signature"),
        TimingPlugin(),
    ]
}

func makeRetryPlugin() -> RetryPlugin {
    RetryPlugin(
        maxAttempts: 4, strategy: .exponentialWithJitter(base: 0.5, maxDelay: 10), shouldRetry: { $0.isRetryable })
}

func makeTransport(_ data: Data) -> MockTransport {
    MockTransport { request in
        PulseResponse(data: data, httpResponse: .mock(statusCode: 200), request: request, latency: 0.01)
    }
}

func empty(_ cache: CachePlugin, of url: URL) async {
    await cache.invalidate(url: url)
    await cache.clearAll()
}

actor Session: TokenProvider {
    private var token: String? = "first"

    func accessToken() async -> String? { token }

    func refreshToken() async throws -> String {
        token = "second"
        return "second"
    }

    func handleAuthenticationFailure() async {
        token = nil
    }
}

struct TimingPlugin: PulsePlugin {
    let identifier = "com.example.timing"

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        request.setValue(context.endpointPath, forHTTPHeaderField: "X-Endpoint")
    }

    func willSend(_ request: URLRequest, for context: PluginContext) async {
        context.store["start"] = Date()
    }

    func didReceive(
        _ result: Result<PulseResponse, PulseError>, for context: PluginContext
    ) async throws -> Result<PulseResponse, PulseError> {
        result
    }

    func didComplete(_ context: PluginContext) async {
        guard let start = context.store["start"] as? Date else { return }
        context.store["seconds"] = Date().timeIntervalSince(start)
    }
}

// MARK: Calls

struct Film: Codable, Sendable, Equatable {
    let title: String
}

func loadUsers(_ client: PulseClient) async throws -> (users: [User], status: Int) {
    let users = try await client.request(GetUsers())
    let response = try await client.rawRequest(GetUsers())
    return (users, response.statusCode)
}

func loadFilm(_ client: PulseClient) async throws -> Film {
    try await client.graphQL(query: "{ title }", variables: nil, responseType: Film.self)
}

func loadByDefault() async throws -> [User] {
    try await PulseClient.default.request(GetUsers())
}

func message(of call: () async throws -> Void) async -> String {
    do {
        try await call()
        return "done"
    } catch PulseError.noConnection {
        return "offline"
    } catch PulseError.timeout {
        return "too slow"
    } catch PulseError.unauthorized {
        return "log in"
    } catch PulseError.rateLimited(let retryAfter) {
        return "wait \(retryAfter ?? 0)"
    } catch PulseError.decodingFailed(let type, let underlying) {
        return "no \(type): \(underlying)"
    } catch PulseError.sslPinningFailed(let host) {
        return "not \(host)"
    } catch let error as PulseError where error.isRetryable {
        return "try again"
    } catch {
        return "failed"
    }
}

// MARK: Events

func watch(_ metrics: PulseMetricsCollector) async -> [Double] {
    metrics.attach(to: .shared)
    for await event in PulseEventBus.shared.events {
        switch event {
        case .requestCompleted(_, let context, let latency): print(context.endpointPath, latency)
        case .requestRetrying(let context, let error, let attempt): print(context.endpointPath, error, attempt)
        case .offlineQueueDraining(let count): print(count)
        case .offlineQueueRequestCompleted(let id, let success): print(id, success)
        case .circuitBreakerOpened(let endpoint): print(endpoint)
        default: break
        }
    }
    let snapshot = await metrics.snapshot()
    return [snapshot.successRate, snapshot.p50Latency, snapshot.p99Latency]
}

// MARK: Sockets

struct Price: Codable, Sendable {
    let amount: Double
}

struct Prices: SocketEndpoint {
    var path: String { "/prices" }
}

func readPrices(_ client: PulseClient) async throws -> [Double] {
    let socket = TypedSocket<Price>(endpoint: Prices(), client: client)
    // The article on sockets says why `connect()` needs `try`.
    try await socket.connect()
    var amounts: [Double] = []
    for await price in socket.messages { amounts.append(price.amount) }
    return amounts
}
